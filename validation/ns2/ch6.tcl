# Chapter 6 of Chen's thesis (tables 6-1 to 6-5): long NewReno flows, short transfers and UDP with ECN
# over Adaptive RED or PI. ST-RED and ST-PI are the thesis's own and not part of ns-2. With other
# values it is chapter 5: ch5.tcl.
#
# Printed: 300 long flows and 50 HTTP sessions, 15 Mb/s, packets of 500 B, a buffer of 1000 packets,
# source links of 1 to 20 ms, ECN; ARED 75/225, weight 5e-5, interval 2 s; PI with four times ns-2's
# coefficients, reference 150. Thresholds are of bytes / 500.
# Ours, as in papers/st-red: the bottleneck's own delay (`delay`, each way), access links of 100 Mb/s,
# starts within 10 s, HTTP sessions of 12 kB on average (exponential) with pauses of 0.5 s on average
# and without ECN, RED's drops spaced without `wait_` and with the gentle slope unless asked for, no
# reverse flows unless asked for.
#
# A table changes its network while it runs: `rates` is a list of "time rate", `loads` of "time flows
# sessions" (to be added; flows below nought are stopped, the last ones first), `sides` of "time low
# high" (delays of the source links), `delays` of "time delay" (of the bottleneck, forwards only), and
# `densities` of "time density" of `udp` flows, which send density x rate / udp for 1 s on average
# (exponential) and are silent as long. `piece_std` is the deviation of the queue in samples each 200 ms,
# averaged over pieces of 200 s, `sent_bytes` what left the queue.
source [file join [file dirname [info script]] lib.tcl]
defaults tcp newreno size 500 n 300 sessions 50 reverse 0 rate 15e6 limit 1000 delay 0.01 \
    low 0.001 high 0.020 queue ARED webecn 0 rates {} loads {} sides {} starts 10 stop 200 warm 100 \
    minth 75 maxth 225 interval 2.0 a 7.288e-5 b 7.264e-5 reference 150 ecn 1 delays {} \
    udp 0 density 0.1 densities {} piece 0 wait 0 gentle 1
if {[info exists preset]} { array set opt $preset }
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

foreach {name value} [list \
    thresh_ $opt(minth) maxthresh_ $opt(maxth) q_weight_ 5e-5 adaptive_ 1 interval_ $opt(interval) \
    wait_ $opt(wait) gentle_ $opt(gentle) setbit_ $opt(ecn) mean_pktsize_ 500 \
] { Queue/RED set $name $value }
foreach {name value} [list \
    bytes_ true queue_in_bytes_ true mean_pktsize_ 500 a_ $opt(a) b_ $opt(b) qref_ $opt(reference) \
    w_ 170 setbit_ $opt(ecn) \
] { Queue/PI set $name $value }

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
        [lindex $made 0] set ecn_ $opt(ecn)
        lappend flows $made
    }
}
proc fewer {count} {
    global ns flows stopped
    for {set i 0} {$i < $count} {incr i} {
        incr stopped
        [lindex [lindex $flows end-[expr {$stopped - 1}]] 0] advance 0
    }
}
set stopped 0

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
    [lindex $made 0] set ecn_ $opt(ecn)
    lappend flows $made
}
foreach {at rate} $opt(rates) {
    foreach {a b} [list $left $right $right $left] {
        $ns at $at "\[\[$ns link $a $b\] link\] set bandwidth_ $rate"
    }
    if {$at <= $opt(warm)} { set m(rate) $rate }
}
foreach {at count sessions} $opt(loads) {
    if {$at >= $opt(stop)} continue
    if {$count < 0} { $ns at $at "fewer [expr {-$count}]" } else { long $count $at }
    web $sessions $at
}
foreach {at low high} $opt(sides) {
    foreach pair $hosts {
        $ns at $at "$ns delay [lindex $pair 0] $left [uniform $low $high] duplex"
    }
}
foreach {at delay} $opt(delays) { $ns at $at "$ns delay $left $right $delay simplex" }

# Each UDP flow begins with a pause, and again when its density changes.
set talkers {}
for {set i 0} {$i < $opt(udp)} {incr i} {
    lassign [host] from to
    set udp [new Agent/UDP]
    $udp set packetSize_ 500
    set null [new Agent/Null]
    $ns attach-agent $from $udp
    $ns attach-agent $to $null
    $ns connect $udp $null
    set talker [new Application/Traffic/Exponential]
    foreach {name value} {packetSize_ 500 burst_time_ 1.0 idle_time_ 1.0} { $talker set $name $value }
    $talker attach-agent $udp
    lappend talkers $talker
}
proc talk {density} {
    global opt talkers
    foreach talker $talkers {
        $talker stop
        $talker set rate_ [expr {$density * $opt(rate) / $opt(udp)}]
        $talker start
    }
}
if {$opt(udp)} {
    foreach {at density} [list 0 $opt(density) {*}$opt(densities)] { $ns at $at "talk $density" }
}

# The queue in pieces of opt(piece) seconds, and what was sent.
set piece {n 0 sum 0.0 squares 0.0}
set deviations {}
proc take_piece {} {
    global ns opt m piece deviations
    set now [$ns now]
    dict with piece {
        if {$n && int(round($now / 0.2)) % int(round($opt(piece) / 0.2)) == 0} {
            lappend deviations [expr {sqrt(max(0.0, $squares / $n - ($sum / $n) ** 2))}]
            set n 0; set sum 0.0; set squares 0.0
        }
        set q [expr {[$m(qmon) set size_] / 500.0}]
        incr n
        set sum [expr {$sum + $q}]
        set squares [expr {$squares + $q * $q}]
    }
    $ns at [expr {$now + 0.2}] take_piece
}
proc report_pieces {} {
    global m deviations
    set sum 0.0
    foreach one $deviations { set sum [expr {$sum + $one}] }
    puts stderr "SECOND piece_std=[expr {$sum / [llength $deviations]}] sent_bytes=$m(sent)"
}
if {$opt(piece)} {
    $ns at 0.0 take_piece
    $ns at [expr {$opt(stop) + 5e-10}] report_pieces
}
run_and_report $measured
