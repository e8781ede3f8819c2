#!/bin/sh
# The guest's init. Its variables come from the kernel's command line:
# dir (where the files are), rate (bit/s), delay (us, of the ACK path), queue (arguments of tc, commas for blanks), ecn (0 or 1), flows (arguments of ./flows, commas for blanks).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run
mount -t hostfs -o "$dir/out" none /mnt

# s -- r -- d: sender, router, receiver
for n in s r d; do ip netns add $n; done
ip link add s0 netns s type veth peer name r0 netns r
ip link add r1 netns r type veth peer name d0 netns d
for end in s:s0:10.0.1.1 r:r0:10.0.1.2 r:r1:10.0.2.1 d:d0:10.0.2.2; do
  IFS=: read -r n dev ip <<END
$end
END
  ip -n $n link set lo up
  ip -n $n link set $dev gso_max_segs 1 txqueuelen 10000 up
  ip -n $n addr add $ip/24 dev $dev
  ip netns exec $n ethtool -K $dev tso off gso off gro off 2>/dev/null # one segment, one packet
  ip netns exec $n sh -c "cd /proc/sys/net/ipv4; echo 1 >ip_forward; echo 1 >tcp_no_metrics_save; echo $ecn >tcp_ecn
    echo 4096 4194304 16777216 >tcp_rmem; echo 4096 1048576 16777216 >tcp_wmem"
done
# permanent neighbours: ARP would enter the queue
mac() { ip netns exec $1 cat /sys/class/net/$2/address; }
ip -n s neigh replace 10.0.1.2 lladdr "$(mac r r0)" dev s0 nud permanent
ip -n r neigh replace 10.0.1.1 lladdr "$(mac s s0)" dev r0 nud permanent
ip -n r neigh replace 10.0.2.2 lladdr "$(mac d d0)" dev r1 nud permanent
ip -n d neigh replace 10.0.2.1 lladdr "$(mac r r1)" dev d0 nud permanent
ip -n s route add default via 10.0.1.2
ip -n d route add default via 10.0.2.1

tc -n d qdisc add dev d0 root netem delay "$delay"us limit 1000000
tc -n r qdisc add dev r1 root handle 1: htb default 1
tc -n r class add dev r1 parent 1: classid 1:1 htb rate "$rate"bit ceil "$rate"bit burst 1514 cburst 1514 2>/dev/null # it warns of its quantum
tc -n r qdisc add dev r1 parent 1:1 handle 10: $(echo "$queue" | tr , ' ')
"$dir/flows" -q r1:10 $(echo "$flows" | tr , ' ')
sync
busybox poweroff -f
