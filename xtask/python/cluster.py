"""Runs that several processes share, under the launchers and networks of real clusters.

usage: cluster.py SERVEMARK MOCK_SERVER TOKENIZER

Needs nats-server, Open MPI, Slurm with munge and iproute2 (Debian: nats-server openmpi-bin slurm-wlm
munge iproute2), and root for the network namespaces. What is missing is said and skipped; what fails
ends the program with 1.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SERVEMARK, MOCK_SERVER, TOKENIZER = (str(pathlib.Path(arg).resolve()) for arg in sys.argv[1:4])
REQUESTS = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(*command, **options):
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.DEVNULL)
    process = subprocess.Popen(command, **options)
    try:
        time.sleep(1)
        yield process
    finally:
        process.terminate()
        process.wait()


def bench(server, log):
    return [
        SERVEMARK, "bench-serving", "--backend", "vllm-chat", "--base-url", server,
        "--dataset-name", "random-ids", "--tokenizer", TOKENIZER, "--random-input-len", "8",
        "--random-output-len", "8", "--num-prompts", str(REQUESTS), "--request-rate", "100",
        "--disable-tqdm", "--run-log", str(log),
    ]  # fmt: skip


def score(*logs):
    command = [SERVEMARK, "score", *map(str, logs), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def rank_log(log, rank):
    return log.with_name(log.name.replace(".runlog.jsonl", f".rank{rank}.runlog.jsonl"))


def lines(log, kind):
    for line in open(log):
        line = json.loads(line)
        if kind in line:
            yield line[kind]


def check(log, ranks):
    """Checks a finished run: every request is there, and the logs give the same report again."""
    merged = score(log)
    assert merged["score"]["requests"]["completed"] == REQUESTS, merged["score"]["requests"]
    assert merged["audit"]["ranks"]["present"] == ranks
    logs = [rank_log(log, rank) for rank in range(ranks)]
    assert score(*logs) == merged, "the logs of the ranks give another report"
    starts, offsets = [], []
    for each in logs:
        clock = next(lines(each, "header"))["clock_started_unix_ns"]
        start = next(lines(each, "start"))
        starts.append(clock + start["at"])
        offsets.append((clock, start["clock"]["offset_ns"]))
    # All ranks are on one machine, so its wall clock is the truth.
    apart = max(starts) - min(starts)
    error = max(abs(offset - (clock - offsets[0][0])) for clock, offset in offsets)
    print(f"  starts {apart / 1e6:.3f} ms apart, offsets right to {error / 1e3:.1f} us")
    assert apart < 5e6, "the starts are more than 5 ms apart"
    return error


def mpirun(url, server, folder):
    log = folder / "mpi.runlog.jsonl"
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    command = [*mpirun, *bench(server, log), "--coordinator", f"{url}/mpi"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    check(log, 3)


SLURM = """\
ClusterName=servemark
SlurmctldHost={host}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
NodeName=n[0-2] NodeHostname={host} Port=[{first}-{last}] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n[0-2] Default=YES MaxTime=INFINITE State=UP
"""


def slurm(url, server, folder):
    slurm = folder / "slurm"
    munge = slurm / "munge"
    munge.mkdir(parents=True)
    for path in ("state", "spool.n0", "spool.n1", "spool.n2"):
        (slurm / path).mkdir()
    (munge / "key").write_bytes(os.urandom(1024))
    (munge / "key").chmod(0o400)
    munge.chmod(0o755)
    slurm.chmod(0o755)
    folder.chmod(0o755)
    port = free_port()
    conf = slurm / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    first = free_port()
    text = SLURM.format(host=host, folder=slurm, port=port, first=first, last=first + 2)
    conf.write_text(text)
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    files = [f"--key-file={munge}/key", f"--socket={munge}/socket", f"--pid-file={munge}/pid"]
    files += [f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--force"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(running("munged", "--foreground", *files))
        stack.enter_context(running("slurmctld", "-D", "-f", conf, env=environment))
        for node in range(3):
            stack.enter_context(running("slurmd", "-D", "-f", conf, "-N", f"n{node}", env=environment))
        log = folder / "slurm.runlog.jsonl"
        srun = ["srun", "-N3", "-n3", *bench(server, log), "--coordinator", url]
        subprocess.run(srun, check=True, capture_output=True, timeout=120, env=environment)
    check(log, 3)


def namespaces(folder):
    """Three ranks in network namespaces, each with a monotonic clock of its own."""
    run = lambda *command: subprocess.run(command, check=True, capture_output=True)
    bridge, port, web = "smk-br", free_port(), free_port()
    skews = [0, 5, -3]
    with contextlib.ExitStack() as stack:
        run("ip", "link", "add", bridge, "type", "bridge")
        stack.callback(run, "ip", "link", "del", bridge)
        run("ip", "addr", "add", "10.213.7.254/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for rank in range(3):
            name = f"smk{rank}"
            run("ip", "netns", "add", name)
            stack.callback(run, "ip", "netns", "del", name)
            run("ip", "link", "add", f"{name}-h", "type", "veth", "peer", "eth0", "netns", name)
            run("ip", "link", "set", f"{name}-h", "master", bridge, "up")
            run("ip", "-n", name, "addr", "add", f"10.213.7.{rank + 1}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
        stack.enter_context(running("nats-server", "-a", "10.213.7.254", "-p", str(port)))
        stack.enter_context(running(MOCK_SERVER, "--host", "10.213.7.254", "--port", str(web)))
        log = folder / "namespaces.runlog.jsonl"
        ranks = []
        for rank, skew in enumerate(skews):
            inside = ["ip", "netns", "exec", f"smk{rank}", "unshare", "--time", "--fork"]
            inside += ["--monotonic", str(skew)]
            command = [*inside, *bench(f"http://10.213.7.254:{web}", log)]
            command += ["--coordinator", f"nats://10.213.7.254:{port}", "--world", "3"]
            command += ["--rank", str(rank)]
            ranks.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        for rank in ranks:
            _, errors = rank.communicate(timeout=120)
            assert rank.returncode == 0, errors.decode()
        error = check(log, 3)
        assert error < 50e3, "an offset is wrong by more than 50 us"


def main():
    missing = lambda *programs: [name for name in programs if not shutil.which(name)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if missing("nats-server"):
            sys.exit("nats-server is not installed")
        port, web = free_port(), free_port()
        stack.enter_context(running("nats-server", "-a", "127.0.0.1", "-p", str(port)))
        stack.enter_context(running(MOCK_SERVER, "--port", str(web)))
        url, server = f"nats://127.0.0.1:{port}", f"http://127.0.0.1:{web}"
        parts = [
            ("mpirun", ["mpirun"], lambda: mpirun(url, server, folder)),
            ("slurm", ["srun", "slurmctld", "slurmd", "munged"], lambda: slurm(url, server, folder)),
            ("network namespaces", ["ip", "unshare"], lambda: namespaces(folder)),
        ]
        for name, programs, part in parts:
            if absent := missing(*programs):
                print(f"{name}: skipped, {', '.join(absent)} is not installed")
                continue
            print(f"{name}:")
            part()
    print("all ranks agree")


main()
