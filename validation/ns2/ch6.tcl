# Chapter 6 of Chen's thesis (tables 6-1, 6-3, 6-4): long NewReno flows and short transfers with ECN
# over Adaptive RED or PI. ST-RED and ST-PI are the thesis's own and not part of ns-2.
#
# Printed: 300 long flows and 50 HTTP sessions, 15 Mb/s, packets of 500 B, a buffer of 1000 packets,
# source links of 1 to 20 ms, ECN; ARED 75/225, weight 5e-5, interval 2 s; PI with four times ns-2's
# coefficients, reference 150. Thresholds are of bytes / 500.
# Ours, as in papers/st-red: the bottleneck's own delay (`delay`, each way), access links of 100 Mb/s,
# starts within 10 s, HTTP sessions of 12 kB on average (exponential) with pauses of 0.5 s on average
# and without ECN, RED's drops spaced without `wait_`, no reverse flows unless asked for.
#
# A table changes its network while it runs: `rates` is a list of "time rate", `loads` of "time flows
# sessions", `sides` of "time low high" (delays of the source links).
source [file join [file dirname [info script]] lib.tcl]
defaults tcp newreno size 500 n 300 sessions 50 reverse 0 rate 15e6 limit 1000 delay 0.01 \
    low 0.001 high 0.020 queue ARED webecn 0 rates {} loads {} sides {} starts 10 stop 200 warm 100
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

foreach {name value} {
    thresh_ 75 maxthresh_ 225 q_weight_ 5e-5 adaptive_ 1 interval_ 2.0 wait_ false setbit_ true
    mean_pktsize_ 500
} { Queue/RED set $name $value }
foreach {name value} {
    bytes_ true queue_in_bytes_ true mean_pktsize_ 500 a_ 7.288e-5 b_ 7.264e-5 qref_ 150 w_ 170
    setbit_ true
} { Queue/PI set $name $value }

set left [$ns node]
set right [$ns node]
set kind [expr {$opt(queue) eq "ARED" ? "RED" : $opt(queue)}]
$ns simplex-link $left $right $opt(rate) $opt(delay) $kind
$ns simplex-link $right $left $opt(rate) $opt(delay) $kind
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left $opt(limit)
monitor_link $left $right $opt(rate)

# Sixty pairs of hosts carry all flows: ns-2's routes take time and memory that grow with the square
# of the nodes.
set hosts {}
for {set i 0} {$i < 60} {incr i} {
    set source [$ns node]
    set target [$ns node]
    set opt(accbuf) 5000
    access $source $left 100e6 [uniform $opt(low) $opt(high)]
    access $right $target 100e6 0.0001
    lappend hosts [list $source $target]
}
set next_host 0
proc host {} {
    global hosts next_host
    incr next_host
    return [lindex $hosts [expr {$next_host % [llength $hosts]}]]
}

set flows {}
proc long {count at} {
    global ns flows opt
    for {set i 0} {$i < $count} {incr i} {
        lassign [host] from to
        set made [flow $from $to [expr {$at + [uniform 0 $opt(starts)]}] [llength $flows]]
        [lindex $made 0] set ecn_ 1
        lappend flows $made
    }
}

# A session: transfers of an exponential number of packets, with exponential pauses.
proc transfer {agent sink} {
    global draws
    $agent reset
    $sink reset
    $agent advance [expr {1 + int([$draws exponential 24])}]
}
proc pause {agent sink} {
    global ns draws
    $ns at [expr {[$ns now] + [$draws exponential 0.5]}] "transfer $agent $sink"
}
proc web {count at} {
    global ns opt
    for {set i 0} {$i < $count} {incr i} {
        lassign [host] from to
        set agent [new_agent]
        set sink [new_sink]
        $agent set ecn_ $opt(webecn)
        $ns attach-agent $from $agent
        $ns attach-agent $to $sink
        $ns connect $agent $sink
        $agent proc done {} "pause $agent $sink"
        $ns at [expr {$at + [uniform 0 $opt(starts)]}] "transfer $agent $sink"
    }
}

long $opt(n) 0
web $opt(sessions) 0
set measured [llength $flows]
for {set i 0} {$i < $opt(reverse)} {incr i} {
    lassign [host] from to
    set made [flow $to $from [uniform 0 $opt(starts)] [llength $flows]]
    [lindex $made 0] set ecn_ 1
    lappend flows $made
}
foreach {at rate} $opt(rates) {
    foreach {a b} [list $left $right $right $left] {
        $ns at $at "\[\[$ns link $a $b\] link\] set bandwidth_ $rate"
    }
    if {$at <= $opt(warm)} { set m(rate) $rate }
}
foreach {at count sessions} $opt(loads) {
    if {$at < $opt(stop)} { long $count $at; web $sessions $at }
}
foreach {at low high} $opt(sides) {
    foreach pair $hosts {
        $ns at $at "$ns delay [lindex $pair 0] $left [uniform $low $high] duplex"
    }
}
run_and_report $measured
