package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// pcRows is the rows (and columns) of C that a consumer wave computes.
const pcRows = 64

// pcTileBytes is a half of a consumer's operand block: 32 rows of 64 elements.
const pcTileBytes = 32 * kBytes

// stageBytes is the LDS of one K tile of the producer-consumer schedule: one
// block of A for each group of four consumers, and four of B.
func (p *plan) stageBytes() int { return (p.Consumers/4*p.consumerRows() + 256) * kBytes }

// pcRegisters is the least number of registers of a consumer with rows rows and
// 64 columns of C: accumulators, half of its A and all of its B operands, and
// addresses.
func pcRegisters(rows int) int { return roundUp(rows+rows/4+32+8, regGranule) }

// chooseRoles settles producers, consumers, stages and handshake.
func (p *plan) chooseRoles() error {
	if p.Schedule != ProducerConsumer {
		for _, o := range []struct {
			name string
			set  bool
		}{{"producers", p.Producers != 0}, {"consumers", p.Consumers != 0}, {"stages", p.Stages != 0}, {"handshake", p.Handshake != ""}, {"descriptors", p.Descriptors != ""}} {
			if o.set {
				return fmt.Errorf("gemm: --%s is an option of schedule %s; schedule %s has none", o.name, ProducerConsumer, p.Schedule)
			}
		}
		return p.chooseFeatures()
	}
	for _, o := range []struct {
		name    string
		v       *int
		def     int
		allowed []int
		list    string
	}{
		{"producers", &p.Producers, 4, []int{4}, "4"},
		{"consumers", &p.Consumers, 8, []int{8, 12}, "8 or 12"},
		{"stages", &p.Stages, 2, []int{2, 3}, "2 or 3"},
	} {
		if *o.v == 0 {
			*o.v = o.def
		}
		ok := false
		for _, a := range o.allowed {
			ok = ok || *o.v == a
		}
		if !ok {
			return fmt.Errorf("gemm: --%s is %d; schedule %s takes %s", o.name, *o.v, ProducerConsumer, o.list)
		}
	}
	if err := p.chooseFeatures(); err != nil {
		return err
	}
	switch p.Descriptors {
	case "":
		p.Descriptors = descriptorSGPR
	case descriptorSGPR:
	case descriptorVGPR:
		if p.has(isa.TileCopy) {
			return fmt.Errorf("gemm: --descriptors %s is of loads, and the feature tile_copy has none", p.Descriptors)
		}
	default:
		return fmt.Errorf("gemm: unknown descriptors %q; %s and %s exist", p.Descriptors, descriptorSGPR, descriptorVGPR)
	}
	switch p.Handshake {
	case MBarrierHandshake:
		if !p.has(isa.MBarrier) {
			return fmt.Errorf("gemm: --handshake %s needs --features mbarrier", p.Handshake)
		}
	case "":
		p.Handshake = BarrierHandshake
	case BarrierHandshake, AtomicHandshake:
	default:
		return fmt.Errorf("gemm: unknown handshake %q; %s and %s exist", p.Handshake, BarrierHandshake, AtomicHandshake)
	}
	if used, most := p.stageBytes()*p.Stages+p.flagBytes(), p.room(); used > most && p.cpu == isa.GFX950 {
		return fmt.Errorf("gemm: %d stages for %d consumers use %d bytes of LDS, %d more than the %d of %s; --stages 2 fits",
			p.Stages, p.Consumers, used, used-most, most, p.cpu)
	}
	return nil
}

// flagBytes is the LDS of the flags of the lds-atomic handshake.
func (p *plan) flagBytes() int {
	switch p.Handshake {
	case AtomicHandshake:
		return 3 * 4 * p.Stages
	case MBarrierHandshake:
		return 2 * isa.MBarBytes * p.Stages
	}
	return 0
}
