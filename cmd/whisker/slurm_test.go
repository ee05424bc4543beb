package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slurmConf is a cluster of one node on loopback.
const slurmConf = `ClusterName=whisker
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=1
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`

// freePort finds a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startSlurm starts munged, slurmctld and slurmd with files of their own in a
// folder, and stops them at the test's end. Without Slurm, or without the right
// to start it, the test is skipped, unless REQUIRE_SLURM=1 says that it must be
// there.
func startSlurm(t *testing.T) (conf string) {
	t.Helper()
	skip := func(why string) {
		if os.Getenv("REQUIRE_SLURM") == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	for _, tool := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip("no Slurm here: " + err.Error())
		}
	}
	if os.Getuid() != 0 {
		skip("Slurm's daemons need root")
	}
	// Socket paths are short, and t.TempDir's may not be.
	dir, err := os.MkdirTemp("", "wslurm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	conf = filepath.Join(dir, "slurm.conf")
	for name, data := range map[string][]byte{"key": key, "slurm.conf": fmt.Appendf(nil, slurmConf, host, dir, freePort(t), freePort(t))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, daemon := range []string{"slurmd", "slurmctld", "munged"} {
			stopDaemon(filepath.Join(dir, daemon+".pid"))
		}
	})
	for _, start := range [][]string{
		{"munged", "--force", "--key-file=" + dir + "/key", "--socket=" + dir + "/munge.sock", "--pid-file=" + dir + "/munged.pid",
			"--log-file=" + dir + "/munged.log", "--seed-file=" + dir + "/seed"},
		{"slurmctld", "-f", conf},
		{"slurmd", "-f", conf},
	} {
		if out, err := exec.Command(start[0], start[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", start, err, out)
		}
	}
	t.Setenv("SLURM_CONF", conf)
	waitFor(t, time.Minute, "an idle node", func() bool {
		out, _ := exec.Command("sinfo", "--noheader", "--format=%t").Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return conf
}

// stopDaemon ends the process of a pid file and waits for its end.
func stopDaemon(pidFile string) {
	data, err := os.ReadFile(pidFile)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return
	}
	p, err := os.FindProcess(pid)
	if err != nil || p.Signal(os.Interrupt) != nil {
		return
	}
	for range 100 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = p.Kill()
}

func waitFor(t *testing.T, most time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %v", what, most)
		}
	}
}

// slurmStudy has twelve points.
const slurmStudy = `
kernel: gemm
fixed: {size: 512, chip.xcds: 1, chip.iods: 1, chip.cus_per_xcd: 4}
axes:
  lds.bytes: [163840, 262144]
  l2.bytes: [1048576, 2097152, 4194304]
  schedule: [pingpong8, interleave4]
`

// A study run as a job array of a real Slurm, some of whose tasks are killed,
// gives the bytes of the local sweep: what is missing is submitted again, and
// only that.
func TestSlurm(t *testing.T) {
	if testing.Short() && os.Getenv("REQUIRE_SLURM") != "1" {
		t.Skip("half a minute")
	}
	startSlurm(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(slurmStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := whisker(t, dir, "sweep", "study.yaml", "--out", "slurm.sqlite", "--slurm", "--max-array", "8", "--partition", "main", "--time", "5",
		"--mem", "500M", "--poll", "500ms", "--format", "json")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := killTasks(t, 3)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if !strings.Contains(said.String(), `"done": 12`) {
		t.Fatal(said.String())
	}
	out, err := exec.Command("scontrol", "show", "jobs", "--oneliner").Output()
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]int{}
	for line := range strings.Lines(string(out)) {
		for _, state := range []string{"COMPLETED", "CANCELLED", "FAILED"} {
			if strings.Contains(line, "JobState="+state) {
				tasks[state]++
			}
		}
	}
	// A kill may come too late for its task, or between the task's result and its
	// end: such a point is not run again.
	done, ended := tasks["COMPLETED"], tasks["CANCELLED"]+tasks["FAILED"]
	if ended < 1 || ended > killed || done > 12 || done < 12-ended {
		t.Errorf("%d tasks were killed; Slurm ran %v", killed, tasks)
	}
	if out, err := whisker(t, dir, "sweep", "study.yaml", "--out", "local.sqlite", "--jobs", "2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a, err1 := os.ReadFile(filepath.Join(dir, "slurm.sqlite"))
	b, err2 := os.ReadFile(filepath.Join(dir, "local.sqlite"))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("the files differ: %v, %d and %d bytes", err, len(a), len(b))
	}
	if _, err := os.Stat(filepath.Join(dir, "slurm.sqlite.slurm")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder of the tasks is left")
	}
}

// killTasks kills tasks while they run, each of another point, and tells how
// many it got.
func killTasks(t *testing.T, want int) int {
	t.Helper()
	seen := map[string]bool{}
	for end := time.Now().Add(time.Minute); len(seen) < want && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		out, err := exec.Command("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K").Output()
		if err != nil {
			t.Fatal(err)
		}
		for id := range strings.FieldsSeq(string(out)) {
			if seen[id] || len(seen) == want {
				continue
			}
			if exec.Command("scancel", "--signal=KILL", "--full", id).Run() == nil {
				seen[id] = true
			}
		}
	}
	return len(seen)
}
