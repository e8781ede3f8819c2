# Sections V-B and VI-C of Manjunath and Raina's study of Compound TCP with RED: mixed traffic over one
# link, and flows over one or two links (a parking lot), under RED or a drop-tail queue.
#
# Printed: 27 Compound and 28 CUBIC flows behind 2 Mb/s, UDP of 8 Mb/s in all, HTTP of fifty
# connections a second and 2 Mb/s in all over Tahoe; figure 16: A1-30 cross both links, A31-60 the
# first, B1-30 the second, 30 flows each, or 13 and 14 (with UDP and HTTP), 14 and 14, 14 and 14.
# Ours: the rest as in s1.tcl; UDP is eight flows of 1 Mb/s of 1000 B; a connection is one transfer of an
# exponential number of bytes, 5000 on average, of a pool of Tahoe agents.
source [file join [file dirname [info script]] lib.tcl]
defaults rtt 0.01 access 2e6 rate 100e6 limit 2084 minth 50 maxth 100 meanpkt 1500 jitter 0 starts 10 \
    queue RED accbuf 50 rtts {} lot 0 mixed 1
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

Queue/RED set thresh_ $opt(minth)
Queue/RED set maxthresh_ $opt(maxth)
Queue/RED set mean_pktsize_ $opt(meanpkt)
set routers [list [$ns node] [$ns node]]
if {$opt(lot)} { lappend routers [$ns node] }
set links [expr {[llength $routers] - 1}]
for {set i 0} {$i < $links} {incr i} {
    set a [lindex $routers $i]
    set b [lindex $routers [expr {$i + 1}]]
    $ns simplex-link $a $b $opt(rate) [expr {$opt(rtt) / 4 / $links}] $opt(queue)
    $ns simplex-link $b $a $opt(rate) [expr {$opt(rtt) / 4 / $links}] DropTail
    $ns queue-limit $a $b $opt(limit)
    $ns queue-limit $b $a 10000
}
monitor_link [lindex $routers 0] [lindex $routers 1] $opt(rate)

# The second link of the parking lot: its monitor, its largest queue and its counters when measuring begins.
if {$opt(lot)} {
    set second [$ns monitor-queue [lindex $routers 1] [lindex $routers 2] ""]
    set second_size [new Integrator]
    $second set-pkts-integrator $second_size
    proc begin_second {} {
        global ns second second_size at_begin second_high
        foreach what {parrivals_ bdepartures_ pdrops_} { set at_begin($what) [$second set $what] }
        $second_size newpoint [$ns now] [$second_size set lasty_]
        set at_begin(sum) [$second_size set sum_]
        set second_high 0
        watch_second
    }
    proc watch_second {} {
        global ns second second_high
        set second_high [expr {max($second_high, [$second set pkts_])}]
        $ns at [expr {[$ns now] + 0.001}] watch_second
    }
    proc report_second {} {
        global ns opt second second_size at_begin second_high
        set span [expr {$opt(stop) - $opt(warm)}]
        $second_size newpoint [$ns now] [$second_size set lasty_]
        foreach what {parrivals_ pdrops_} { set c($what) [expr {[$second set $what] - $at_begin($what)}] }
        set bytes [delta32 [$second set bdepartures_] $at_begin(bdepartures_)]
        set words SECOND
        foreach {key value} [list maxq2 $second_high arrivals2 [format %.0f $c(parrivals_)] drops2 [format %.0f $c(pdrops_)] \
            meanq2 [expr {([$second_size set sum_] - $at_begin(sum)) / $span}] \
            util2 [expr {8.0 * $bytes / $opt(rate) / $span}]] { append words " $key=$value" }
        puts stderr $words
    }
    $ns at $opt(warm) begin_second
    $ns at $opt(stop) report_second
}

proc side_delay {i crossed} {
    global opt links
    set rtt $opt(rtt)
    if {[llength $opt(rtts)]} { set rtt [lindex $opt(rtts) [expr {$i % [llength $opt(rtts)]}]] }
    set own [expr {$rtt * [uniform [expr {1 - $opt(jitter)}] [expr {1 + $opt(jitter)}]]}]
    return [expr {($own - $opt(rtt) / 2 * $crossed / $links) / 4}]
}

set flows {}
# Flows of one congestion control from router `from` to router `to`.
proc group {count cc from to} {
    global ns opt flows routers
    for {set i 0} {$i < $count} {incr i} {
        set source [$ns node]
        set target [$ns node]
        set side [side_delay [llength $flows] [expr {$to - $from}]]
        access $source [lindex $routers $from] $opt(access) $side
        access [lindex $routers $to] $target $opt(access) $side
        set opt(cc) $cc
        lappend flows [flow $source $target [uniform 0 $opt(starts)] [llength $flows]]
    }
}

# Eight UDP flows of 1 Mb/s and HTTP over the first `to` links.
proc others {to} {
    global ns opt routers pool free
    set from [lindex $routers 0]
    set target [lindex $routers $to]
    set a [$ns node]
    set b [$ns node]
    set opt(accbuf) 5000
    set side [side_delay 0 $to]
    access $a $from 1e9 $side
    access $target $b 1e9 $side
    set opt(accbuf) 50
    for {set i 0} {$i < 8} {incr i} {
        set udp [new Agent/UDP]
        $udp set packetSize_ 1000
        set null [new Agent/Null]
        $ns attach-agent $a $udp
        $ns attach-agent $b $null
        $ns connect $udp $null
        set cbr [new Application/Traffic/CBR]
        $cbr set packetSize_ 1000
        $cbr set rate_ 1e6
        $cbr attach-agent $udp
        $ns at [uniform 0 $opt(starts)] "$cbr start"
    }
    set kept $opt(tcp)
    set opt(tcp) tahoe
    set free {}
    for {set i 0} {$i < 200} {incr i} {
        set agent [new_agent]
        set sink [new_sink]
        $ns attach-agent $a $agent
        $ns attach-agent $b $sink
        $ns connect $agent $sink
        $agent proc done {} "global free; lappend free \[list $agent $sink\]"
        lappend free [list $agent $sink]
    }
    set opt(tcp) $kept
    $ns at [uniform 0 0.04] connection
}
proc connection {} {
    global ns draws free
    if {[llength $free]} {
        lassign [lindex $free 0] agent sink
        set free [lrange $free 1 end]
        $agent reset
        $sink reset
        $agent advance [expr {1 + int([$draws exponential 5000] / 1460)}]
    }
    $ns at [expr {[$ns now] + [$draws exponential 0.02]}] connection
}

if {$opt(lot)} {
    if {$opt(mixed)} {
        group 13 compound 0 2
        group 14 cubic 0 2
        group 14 compound 0 1
        group 14 cubic 0 1
        group 14 compound 1 2
        group 14 cubic 1 2
        others 2
    } else {
        group 30 compound 0 2
        group 30 compound 0 1
        group 30 compound 1 2
    }
} elseif {$opt(mixed)} {
    group 27 compound 0 1
    group 28 cubic 0 1
    others 1
} else {
    group 60 compound 0 1
}
run_and_report [llength $flows]
