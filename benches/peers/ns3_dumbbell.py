"""
The dumbbell of the benchmarks on ns-3, by its Python wheel.

`python ns3_dumbbell.py flows=10 rate=100e6 ...` prints one line of JSON.

TCP is ns-3's default endpoint (SACK on, timestamps on, window scaling) with TcpLinuxReno; delayed ACKs off,
minimum RTO 0.2 s, initial window 2, as in the set-ups of ns-2 and ackclock. Queues are the devices' own
drop-tail queues; RED is a queue disc over a device queue of one packet. Addresses are routed by ns-3's global
routing. No trace is connected: what is counted are the queue's own counters. CPU time is that of
Simulator::Run alone.
"""

import json
import sys
import time

from ns import ns

OPTIONS = {
    "flows": 10,
    "rate": 100e6,  # bit/s
    "limit": 333,  # packets
    "access": 1e9,  # bit/s
    "low": 0.038,  # s
    "high": 0.042,  # s
    "link_delay": 0.01,  # s
    "starts": 1.0,  # s
    "stop": 20.0,  # s
    "red": 0,  # 1: RED min_threshold .. max_threshold packets
    "min_threshold": 50,
    "max_threshold": 100,
    "seed": 1,
}

PROGRAM = r"""
#include <cstdint>
namespace bench {
using namespace ns3;
struct Outcome { uint64_t packets; uint64_t drops; double seconds; double goodput; };

Outcome run(uint32_t flows, double rate, uint32_t limit, double access, double low, double high, double linkDelay, double starts, double stop,
            bool red, double minThreshold, double maxThreshold, uint32_t seed) {
  RngSeedManager::SetSeed(seed);
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 28));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 28));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(0.2)));
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpLinuxReno")));
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("10000p"));
  NodeContainer routers, left, right;
  routers.Create(2); left.Create(flows); right.Create(flows);
  InternetStackHelper stack;
  stack.Install(routers); stack.Install(left); stack.Install(right);
  PointToPointHelper shared;
  shared.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t) rate)));
  shared.SetChannelAttribute("Delay", TimeValue(Seconds(linkDelay)));
  if (!red) shared.DisableFlowControl();  // and with it the queue disc that ns-3 would put before the device's queue
  NetDeviceContainer devices = shared.Install(routers);
  Ptr<PointToPointNetDevice> out = DynamicCast<PointToPointNetDevice>(devices.Get(0));
  Ptr<Queue<Packet>> queue = out->GetQueue();
  Ptr<QueueDisc> disc;
  TrafficControlHelper control;
  if (red) {
    queue->SetMaxSize(QueueSize("1p"));
    control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(minThreshold), "MaxTh", DoubleValue(maxThreshold), "LInterm", DoubleValue(10),
      "MeanPktSize", UintegerValue(1500), "LinkBandwidth", DataRateValue(DataRate((uint64_t) rate)), "LinkDelay", TimeValue(Seconds(linkDelay)),
      "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)), "QW", DoubleValue(-1));
    disc = control.Install(devices.Get(0)).Get(0);
  } else {
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limit));
  }
  Ipv4AddressHelper addresses;
  addresses.SetBase("10.0.0.0", "255.255.255.252");
  addresses.Assign(devices);
  Ptr<UniformRandomVariable> uniform = CreateObject<UniformRandomVariable>();
  ApplicationContainer sinks;
  for (uint32_t i = 0; i < flows; ++i) {
    double side = (uniform->GetValue(low, high) - 2 * linkDelay) / 4;
    PointToPointHelper edge;
    edge.DisableFlowControl();
    edge.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t) access)));
    edge.SetChannelAttribute("Delay", TimeValue(Seconds(side)));
    addresses.NewNetwork();
    addresses.Assign(edge.Install(left.Get(i), routers.Get(0)));
    addresses.NewNetwork();
    Ipv4InterfaceContainer far = addresses.Assign(edge.Install(routers.Get(1), right.Get(i)));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sinks.Add(sink.Install(right.Get(i)));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), 5000));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    ApplicationContainer sender = source.Install(left.Get(i));
    sender.Start(Seconds(uniform->GetValue(0, starts)));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  Simulator::Stop(Seconds(stop));
  clock_t begin = clock();
  Simulator::Run();
  double seconds = double(clock() - begin) / CLOCKS_PER_SEC;
  Outcome outcome{};
  outcome.seconds = seconds;
  if (red) {
    outcome.packets = disc->GetStats().nTotalDequeuedPackets;
    outcome.drops = disc->GetStats().nTotalDroppedPackets;
  } else {
    outcome.packets = queue->GetTotalReceivedPackets() - queue->GetNPackets();
    outcome.drops = queue->GetTotalDroppedPackets();
  }
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < sinks.GetN(); ++i) bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
  outcome.goodput = bytes * 8.0 / stop;
  Simulator::Destroy();
  return outcome;
}
}
"""


def main() -> None:
    """Read options, run, report."""
    options = dict(OPTIONS)
    for word in sys.argv[1:]:
        name, value = word.split("=")
        options[name] = type(OPTIONS[name])(float(value))
    ns.cppyy.cppdef(PROGRAM)
    begin = time.process_time()
    red = bool(options.pop("red"))
    thresholds = options.pop("min_threshold"), options.pop("max_threshold")
    seed = options.pop("seed")
    measured = ns.cppyy.gbl.bench.run(*options.values(), red, *thresholds, seed)
    print(
        json.dumps(
            {
                "packets": int(measured.packets),
                "drops": int(measured.drops),
                "cpu_s": measured.seconds,
                "goodput_bps": measured.goodput,
                "whole_cpu_s": time.process_time() - begin,
            }
        )
    )


if __name__ == "__main__":
    main()
