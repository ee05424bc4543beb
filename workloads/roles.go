package workloads

import "fmt"

// pcRows is the rows (and columns) of C that a consumer wave computes.
const pcRows = 64

// pcTileBytes is a half of a consumer's operand block: 32 rows of 64 elements.
const pcTileBytes = 32 * kBytes

// stageBytes is the LDS of one K tile of the producer-consumer schedule: one
// block of A for each group of four consumers, and four of B.
func (p *plan) stageBytes() int { return 2 * (p.Consumers/4 + 4) * pcTileBytes }

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
		}{{"producers", p.Producers != 0}, {"consumers", p.Consumers != 0}, {"stages", p.Stages != 0}, {"handshake", p.Handshake != ""}} {
			if o.set {
				return fmt.Errorf("gemm: --%s is an option of schedule %s; schedule %s has none", o.name, ProducerConsumer, p.Schedule)
			}
		}
		return nil
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
	switch p.Handshake {
	case "":
		p.Handshake = BarrierHandshake
	case BarrierHandshake, AtomicHandshake:
	default:
		return fmt.Errorf("gemm: unknown handshake %q; %s and %s exist", p.Handshake, BarrierHandshake, AtomicHandshake)
	}
	if used, most := p.stageBytes()*p.Stages+p.flagBytes(), ldsBytes(p.cpu); used > most && most == ldsCDNA4 {
		return fmt.Errorf("gemm: %d stages for %d consumers use %d bytes of LDS, %d more than the %d of %s; --stages 2 fits",
			p.Stages, p.Consumers, used, used-most, most, p.cpu)
	}
	return nil
}

// flagBytes is the LDS of the flags of the lds-atomic handshake.
func (p *plan) flagBytes() int {
	if p.Handshake == AtomicHandshake {
		return 3 * 4 * p.Stages
	}
	return 0
}
