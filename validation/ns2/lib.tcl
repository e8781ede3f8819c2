# Shared by s1.tcl .. s6.tcl: options, a dumbbell, measurement and the report.
#
# Every script takes its options as "name value" pairs on the command line, for
# example "ns s1.tcl rtt 0.1 seed 3". A script calls in this order:
#   defaults NAME VALUE ...   its own options and their values
#   read_options              the command line over the defaults
#   bottleneck R1 R2          the shared link, both directions
#   sender / receiver / flow  one transfer from a node to a node
#   measure                   probes, run, report
#
# The report is one line of "key=value" words after the word RESULT; per-flow
# values follow on lines beginning with FLOW.

proc defaults {args} {
    global opt
    array set opt {
        seed 1          stop 100        warm 75
        tcp linux       cc compound     timestamps 1
        size 1500       window 20000    minrto 0.2
        delack 0        sample 0.001    accbuf 1000
        set {}          trace 0         windows 0.05
        series 0        series_from 0   series_flows 15
    }
    foreach {name value} $args { set opt($name) $value }
}

proc read_options {} {
    global opt argv
    foreach {name value} $argv {
        if {![info exists opt($name)]} { puts stderr "unknown option $name"; exit 2 }
        set opt($name) $value
    }
}

# Class settings "Class variable value", given as the option "set" in one word
# list, for example: set "Agent/TCP numdupacks_ 4 Queue/RED wait_ 0".
proc apply_settings {} {
    global opt
    foreach {class variable value} $opt(set) { $class set $variable $value }
}

# The random streams: ns-2's default generator (RED and whatever draws without
# naming a generator) and one of ours for delays and start times. Both are moved on by
# "seed" substreams. Setting the generator's seed instead is a trap: the first
# numbers after small seeds lie close together.
proc seed_streams {} {
    global opt draws defaultRNG
    set draws [new RNG]
    for {set i 0} {$i < $opt(seed)} {incr i} {
        $defaultRNG next-substream
        $draws next-substream
    }
}

proc uniform {low high} {
    global draws
    return [$draws uniform $low $high]
}

# Sender agents by short name. Packet sizes on the wire are opt(size): the
# agent's packetSize_ excludes the 40 byte header, and 10 more bytes when it
# carries timestamps.
proc new_agent {} {
    global opt
    switch $opt(tcp) {
        linux   { set class Agent/TCP/Linux }
        sack    { set class Agent/TCP/Sack1 }
        newreno { set class Agent/TCP/Newreno }
        reno    { set class Agent/TCP/Reno }
        fack    { set class Agent/TCP/Fack }
        tahoe   { set class Agent/TCP }
        default { puts stderr "unknown tcp $opt(tcp)"; exit 2 }
    }
    set linux [expr {$opt(tcp) eq "linux"}]
    set stamps [expr {$linux && $opt(timestamps)}]
    Agent/TCP set window_ $opt(window)
    Agent/TCP set minrto_ $opt(minrto)
    Agent/TCP/Linux set minrto_ $opt(minrto)
    Agent/TCP set timestamps_ $stamps
    Agent/TCP set packetSize_ [expr {$opt(size) - 40 - 10 * $stamps}]
    set agent [new $class]
    if {$linux && $opt(cc) ne "none"} { $agent select_ca $opt(cc) }
    return $agent
}

proc new_sink {} {
    global opt
    set class Agent/TCPSink
    if {$opt(tcp) in {linux sack fack}} { append class /Sack1 }
    if {$opt(delack)} { append class /DelAck }
    return [new $class]
}

# One transfer of unlimited length between two nodes.
proc flow {from to start fid} {
    global ns
    set agent [new_agent]
    set sink [new_sink]
    $agent set fid_ $fid
    $sink set fid_ $fid
    $ns attach-agent $from $agent
    $ns attach-agent $to $sink
    $ns connect $agent $sink
    set source [new Application/FTP]
    $source attach-agent $agent
    $ns at $start "$source start"
    return [list $agent $sink]
}

# A duplex access link with a drop-tail queue in each direction.
proc access {a b rate delay} {
    global ns opt
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $opt(accbuf)
    $ns queue-limit $b $a $opt(accbuf)
}

# Counters wrap at 32 bits: differences are taken modulo 2^32 between readings
# that are close enough not to wrap twice.
proc delta32 {now before} {
    set d [expr {$now - $before}]
    while {$d < 0} { set d [expr {$d + 4294967296}] }
    return $d
}

# REM and Vq compute with the link's rate and are not told it by simplex-link; their
# unit is a packet of opt(size).
proc prepare_queue {a b} {
    global ns opt
    if {$opt(queue) ni {REM Vq PI}} return
    set queue [[$ns link $a $b] queue]
    $queue set mean_pktsize_ $opt(size)
    $queue link [[$ns link $a $b] link]
}

# ------------------------------------------------------------- measurement
# monitor: the queue monitor of the bottleneck; its size integrators are exact.
# A sample each opt(sample) seconds gives the standard deviation, and a bin each
# second the utilisation.

proc monitor_link {a b rate} {
    global ns m
    set m(qmon) [$ns monitor-queue $a $b ""]
    set m(pint) [new Integrator]
    set m(bint) [new Integrator]
    $m(qmon) set-pkts-integrator $m(pint)
    $m(qmon) set-bytes-integrator $m(bint)
    set m(rate) $rate
    set m(queue) [[$ns link $a $b] queue]
    set m(peak) 0
}

proc begin_measuring {} {
    global ns m opt flows
    set now [$ns now]
    foreach what {parrivals_ pdepartures_ pdrops_ barrivals_ bdepartures_ bdrops_} {
        set m($what) [$m(qmon) set $what]
    }
    $m(pint) newpoint $now [$m(pint) set lasty_]
    $m(bint) newpoint $now [$m(bint) set lasty_]
    set m(psum) [$m(pint) set sum_]
    set m(bsum) [$m(bint) set sum_]
    set m(high) 0; set m(above) 0
    set m(n) 0; set m(s1) 0.0; set m(s2) 0.0; set m(b1) 0.0; set m(b2) 0.0
    set m(wn) 0; set m(w1) 0.0; set m(a1) 0.0; set m(a2) 0.0
    set m(bin) [$m(qmon) set bdepartures_]
    set m(sent) 0.0
    set m(dropped) 0.0
    set m(arrived) 0.0
    set m(bytebins) {}
    set m(lastdrop) [$m(qmon) set bdrops_]
    set m(lastarr) [$m(qmon) set barrivals_]
    set i 0
    foreach f $flows {
        lassign $f agent sink
        set m(bytes,$i) [$sink set bytes_]
        set m(to,$i) [$agent set nrexmit_]
        set m(rtx,$i) [$agent set nrexmitpack_]
        set m(cuts,$i) [$agent set ncwndcuts_]
        set m(data,$i) [$agent set ndatapack_]
        set m(w,$i) 0.0
        incr i
    }
    take_sample
    $ns at [expr {$now + 1.0}] take_bin
    take_windows
}

proc take_sample {} {
    global ns m opt
    set q [$m(qmon) set pkts_]
    set b [$m(qmon) set size_]
    incr m(n)
    if {$q > $m(high)} { set m(high) $q }
    if {[info exists opt(maxth)] && $q > $opt(maxth)} { incr m(above) }
    set m(s1) [expr {$m(s1) + $q}]
    set m(s2) [expr {$m(s2) + double($q) * $q}]
    set m(b1) [expr {$m(b1) + $b}]
    set m(b2) [expr {$m(b2) + double($b) * $b}]
    if {[info exists m(red)]} {
        set a [$m(queue) set ave_]
        set m(a1) [expr {$m(a1) + $a}]
        set m(a2) [expr {$m(a2) + $a * $a}]
    }
    $ns at [expr {[$ns now] + $opt(sample)}] take_sample
}

# Before the measured interval only the peak is of interest.
proc take_peak {} {
    global ns m opt
    set q [$m(qmon) set pkts_]
    if {$q > $m(peak)} { set m(peak) $q }
    $ns at [expr {[$ns now] + $opt(sample)}] take_peak
}

proc take_bin {} {
    global ns m
    set now [$m(qmon) set bdepartures_]
    set d [delta32 $now $m(bin)]
    set m(bin) $now
    set m(sent) [expr {$m(sent) + $d}]
    lappend m(bytebins) $d
    set now [$m(qmon) set bdrops_]
    set m(dropped) [expr {$m(dropped) + [delta32 $now $m(lastdrop)]}]
    set m(lastdrop) $now
    set now [$m(qmon) set barrivals_]
    set m(arrived) [expr {$m(arrived) + [delta32 $now $m(lastarr)]}]
    set m(lastarr) $now
    $ns at [expr {[$ns now] + 1.0}] take_bin
}

proc take_windows {} {
    global ns m opt flows
    set i 0
    foreach f $flows {
        set w [[lindex $f 0] set cwnd_]
        set m(w,$i) [expr {$m(w,$i) + $w}]
        incr i
    }
    incr m(wn)
    $ns at [expr {[$ns now] + $opt(windows)}] take_windows
}

proc report {} {
    global ns m opt flows
    set now [$ns now]
    set span [expr {$now - $opt(warm)}]
    $m(pint) newpoint $now [$m(pint) set lasty_]
    $m(bint) newpoint $now [$m(bint) set lasty_]
    foreach what {parrivals_ pdepartures_ pdrops_} {
        set c($what) [expr {[$m(qmon) set $what] - $m($what)}]
    }
    set r(arrivals) [format %.0f $c(parrivals_)]
    set r(departures) [format %.0f $c(pdepartures_)]
    set r(drops) [format %.0f $c(pdrops_)]
    set r(loss) [expr {$c(parrivals_) > 0 ? double($c(pdrops_)) / $c(parrivals_) : 0}]
    set r(byte_loss) [expr {$m(arrived) > 0 ? $m(dropped) / $m(arrived) : 0}]
    set r(util) [expr {8.0 * $m(sent) / ($m(rate) * [llength $m(bytebins)])}]
    set low 1e30
    foreach b $m(bytebins) { if {$b < $low} { set low $b } }
    set r(util_min1s) [expr {8.0 * $low / $m(rate)}]
    set r(meanq) [expr {([$m(pint) set sum_] - $m(psum)) / $span}]
    set r(meanq_bytes) [expr {([$m(bint) set sum_] - $m(bsum)) / $span}]
    set n $m(n)
    set r(meanq_sampled) [expr {$m(s1) / $n}]
    set r(stdq) [expr {sqrt(max(0.0, $m(s2) / $n - ($m(s1) / $n) ** 2))}]
    set r(stdq_bytes) [expr {sqrt(max(0.0, $m(b2) / $n - ($m(b1) / $n) ** 2))}]
    set r(peakq) $m(peak)
    set r(maxq) $m(high)
    set r(above) [expr {double($m(above)) / $n}]
    if {[info exists m(red)]} {
        set r(ave) [expr {$m(a1) / $n}]
        set r(ave_std) [expr {sqrt(max(0.0, $m(a2) / $n - ($m(a1) / $n) ** 2))}]
        set r(max_p) [$m(queue) set cur_max_p_]
        set r(q_weight) [$m(queue) set q_weight_]
    }
    set total 0.0; set square 0.0; set count 0; set starved 0
    set timeouts 0; set rtx 0; set cuts 0; set wsum 0.0; set data 0
    set share [expr {$m(rate) / double($opt(counted))}]
    set lines {}
    set i 0
    foreach f $flows {
        lassign $f agent sink
        set good [expr {8.0 * [delta32 [$sink set bytes_] $m(bytes,$i)] / $span}]
        set to [expr {[$agent set nrexmit_] - $m(to,$i)}]
        set w [expr {$m(w,$i) / $m(wn)}]
        lappend lines "FLOW $i goodput=$good timeouts=$to cwnd=$w"
        if {$i < $opt(counted)} {
            set total [expr {$total + $good}]
            set square [expr {$square + $good * $good}]
            if {$good < 0.1 * $share} { incr starved }
            incr count
            incr timeouts [expr {int($to)}]
            incr rtx [expr {int([$agent set nrexmitpack_] - $m(rtx,$i))}]
            incr cuts [expr {int([$agent set ncwndcuts_] - $m(cuts,$i))}]
            incr data [expr {int([$agent set ndatapack_] - $m(data,$i))}]
            set wsum [expr {$wsum + $w}]
        }
        incr i
    }
    set r(goodput_mbps) [expr {$total / 1e6}]
    set r(jain) [expr {$square > 0 ? $total * $total / ($count * $square) : 0}]
    set r(starved) $starved
    set r(timeouts) $timeouts
    set r(timeouts_per_flow_s) [expr {double($timeouts) / $count / $span}]
    set r(cuts) $cuts
    set r(retransmits) $rtx
    set r(segments) $data
    set r(cwnd_mean) [expr {$wsum / $count}]
    set r(flows) [llength $flows]
    set r(window_s) $span
    set words RESULT
    foreach key [lsort [array names r]] { lappend words $key=$r($key) }
    # On stderr: the agents print to stdout through another buffer.
    puts stderr [join $words " "]
    foreach line $lines { puts stderr $line }
    exit 0
}

# The first flow's window every opt(trace) seconds, on stderr: "CWND time cwnd ssthresh".
proc trace_window {} {
    global ns opt flows
    set agent [lindex $flows 0 0]
    puts stderr "CWND [$ns now] [$agent set cwnd_] [$agent set ssthresh_]"
    $ns at [expr {[$ns now] + $opt(trace)}] trace_window
}

# Time, queue, RED's average, mean windows of the flows before and from opt(split) on, and the windows of the first
# opt(series_flows), every opt(series) seconds from opt(series_from) on, on stderr.
proc take_series {} {
    global ns m opt flows
    set i 0
    set first 0.0; set rest 0.0; set shown {}
    foreach f $flows {
        set w [[lindex $f 0] set cwnd_]
        if {$i < $opt(split)} { set first [expr {$first + $w}] } else { set rest [expr {$rest + $w}] }
        if {$i < $opt(series_flows)} { lappend shown [format %.3f $w] }
        incr i
    }
    set first [expr {$first / $opt(split)}]
    set rest [expr {$i > $opt(split) ? $rest / ($i - $opt(split)) : 0}]
    set average [expr {[info exists m(red)] ? [$m(queue) set ave_] : 0}]
    puts stderr [format "SERIES %.3f %d %.2f %.4f %.4f %s" [$ns now] [$m(qmon) set pkts_] $average $first $rest $shown]
    $ns at [expr {[$ns now] + $opt(series)}] take_series
}

# Flows 0 .. counted-1 go through the measured link; later ones are reverse.
proc run_and_report {counted} {
    global ns opt m
    set opt(counted) $counted
    if {[string match Queue/RED* [$m(queue) info class]]} { set m(red) 1 }
    $ns at 0.0 take_peak
    if {$opt(trace) > 0} { $ns at 0.0 trace_window }
    if {![info exists opt(split)]} { set opt(split) $counted }
    if {$opt(series) > 0} { $ns at $opt(series_from) take_series }
    $ns at $opt(warm) begin_measuring
    # A moment after the last bin, so that the bin at the stop is taken first.
    $ns at [expr {$opt(stop) + 1e-9}] report
    $ns run
}
