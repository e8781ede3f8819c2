#!/bin/sh
# The guest's init. Its variables come from the kernel's command line:
# dir (where the files are), rate (bit/s; 0: the queue is the root and shapes itself), hosts (any value: senders may have addresses of 10.0.9.0/24), delay (us, of the ACK path), queue (arguments of tc, commas for blanks; after each "+" a further thing to be added), uplink (arguments of tc for the queue of the ACKs), lines (a file in out with lines of tc in place of rate and queue) and handle (of its root), flows (arguments of ./flows, commas for blanks).
# Few processes, since a process is the dearest thing here: starting one costs as much as a second of virtual time.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t tmpfs tmpfs /run
busybox mount -t hostfs -o "$dir/out" none /mnt
echo 32768 49152 65536 >/proc/sys/net/ipv4/tcp_mem # pages: never short of memory

# s -- r -- d: sender, router, receiver; permanent neighbours, since ARP would enter the queue
s0=02:00:00:00:01:01 r0=02:00:00:00:01:02 r1=02:00:00:00:02:01 d0=02:00:00:00:02:02
up="gso_max_segs 1 txqueuelen 10000 up"
ip -batch - <<END
netns add s
netns add r
netns add d
link add s0 netns s address $s0 type veth peer name r0 netns r address $r0
link add r1 netns r address $r1 type veth peer name d0 netns d address $d0
END
ip -n s -batch - <<END
link set lo up
link set s0 $up
addr add 10.0.1.1/24 dev s0
neigh replace 10.0.1.2 lladdr $r0 dev s0 nud permanent
route add default via 10.0.1.2
END
ip -n r -batch - <<END
link set lo up
link set r0 $up
link set r1 $up
addr add 10.0.1.2/24 dev r0
addr add 10.0.2.1/24 dev r1
neigh replace 10.0.1.1 lladdr $s0 dev r0 nud permanent
neigh replace 10.0.2.2 lladdr $d0 dev r1 nud permanent
END
ip -n d -batch - <<END
link set lo up
link set d0 $up
addr add 10.0.2.2/24 dev d0
neigh replace 10.0.2.1 lladdr $r1 dev d0 nud permanent
route add default via 10.0.2.1
END
if [ -n "$hosts" ]; then
  ip -n s route add local 10.0.9.0/24 dev lo
  ip -n r route add 10.0.9.0/24 via 10.0.1.1
fi
IFS=,
set -- $queue # commas to blanks
IFS=' '
queue="$*" further=
case $queue in *" + "*)
  rest=${queue#* + } queue=${queue%% + *}
  while [ -n "$rest" ]; do
    line=${rest%% + *}
    case $rest in *" + "*) rest=${rest#* + } ;; *) rest= ;; esac
    further="$further
${line%% *} add dev r1 ${line#* }"
  done ;;
esac
tc -n d qdisc add dev d0 root netem delay "$delay"us limit 1000000
if [ -n "$uplink" ]; then
  IFS=,
  set -- $uplink
  IFS=' '
  tc -n r qdisc add dev r0 root handle 20: $*
fi
if [ -n "$lines" ]; then
  ip -n r link set r1 txqueuelen 1000 # that of Ethernet, and of FIFOs that are not told theirs
  tc -n r -batch "/mnt/$lines" || echo "FAILED tc refuses a line of $lines"
elif [ "$rate" = 0 ]; then
  tc -n r -batch - 2>/dev/null <<END # htb warns of its quantum
qdisc add dev r1 root handle 10: $queue$further
END
else
  tc -n r -batch - 2>/dev/null <<END
qdisc add dev r1 root handle 1: htb default 1
class add dev r1 parent 1: classid 1:1 htb rate ${rate}bit ceil ${rate}bit burst 1514 cburst 1514
qdisc add dev r1 parent 1:1 handle 10: $queue$further
END
fi
IFS=,
"$dir/flows" -q "r1:${handle:-10}" $flows
busybox poweroff -f
