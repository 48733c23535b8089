// The same flows through ns-3's DCTCP on a dumbbell. Reads lines "start_ns sender receiver bytes"
// from the file named by the first argument; prints mean and 99th percentile of the flows' times and
// the mean queue in front of the middle link. See docs/packetsim-ns3.md.
//
// Times are measured from an established connection to the last byte at the receiver, because the
// simulator that this is compared with has persistent connections.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <vector>

using namespace ns3;

struct Transfer
{
    uint64_t start, bytes;
    uint32_t from, to;
    uint64_t written = 0, received = 0;
    Time began, ended;
};

static std::vector<Transfer> transfers;
static uint32_t open_transfers = 0;
static double queue_sum = 0;
static uint64_t queue_samples = 0;

static void
Write(uint32_t index, Ptr<Socket> socket, uint32_t)
{
    Transfer& own = transfers[index];
    while (own.written < own.bytes && socket->GetTxAvailable() > 0)
    {
        uint64_t part = std::min<uint64_t>(own.bytes - own.written, socket->GetTxAvailable());
        int sent = socket->Send(Create<Packet>(part));
        if (sent <= 0)
        {
            return;
        }
        own.written += sent;
    }
    if (own.written == own.bytes)
    {
        socket->Close();
        own.written++;
    }
}

static void
Connected(uint32_t index, Ptr<Socket> socket)
{
    transfers[index].began = Simulator::Now();
    Write(index, socket, 0);
}

static void
Read(uint32_t index, Ptr<Socket> socket)
{
    Transfer& own = transfers[index];
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        own.received += packet->GetSize();
    }
    if (own.received >= own.bytes && own.ended.IsZero())
    {
        own.ended = Simulator::Now();
        if (--open_transfers == 0)
        {
            Simulator::Stop();
        }
    }
}

static void
Accepted(uint32_t index, Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeBoundCallback(&Read, index));
}

static void
Start(uint32_t index, Ptr<Node> from, Ptr<Node> to, Ipv4Address address)
{
    uint16_t port = 1000 + index % 60000;
    Ptr<Socket> listener = Socket::CreateSocket(to, TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeBoundCallback(&Accepted, index));
    Ptr<Socket> socket = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
    socket->Bind();
    socket->SetConnectCallback(MakeBoundCallback(&Connected, index),
                               MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeBoundCallback(&Write, index));
    socket->Connect(InetSocketAddress(address, port));
}

static void
Sample(Ptr<QueueDisc> queue)
{
    queue_sum += queue->GetNPackets();
    queue_samples++;
    Simulator::Schedule(MicroSeconds(1), &Sample, queue);
}

int
main(int argc, char** argv)
{
    std::ifstream file(argc > 1 ? argv[1] : "flows.txt");
    Transfer next;
    uint32_t hosts = 0;
    while (file >> next.start >> next.from >> next.to >> next.bytes)
    {
        transfers.push_back(next);
        hosts = std::max({hosts, next.from + 1, next.to + 1});
    }
    open_transfers = transfers.size();

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(1500));
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(QueueSize("2666p")));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    // A step: everything above the threshold is marked.
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(65));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(66));
    Config::SetDefault("ns3::RedQueueDisc::LInterm", DoubleValue(1));

    NodeContainer left, right, middle;
    left.Create(hosts);
    right.Create(hosts);
    middle.Create(2);
    InternetStackHelper internet;
    internet.Install(left);
    internet.Install(right);
    internet.Install(middle);

    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    cable.SetChannelAttribute("Delay", StringValue("5us"));
    cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc");
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    auto connect = [&](Ptr<Node> a, Ptr<Node> b, bool bottleneck, Ptr<QueueDisc>& queue) {
        NetDeviceContainer devices = cable.Install(a, b);
        QueueDiscContainer first = (bottleneck ? red : fifo).Install(devices.Get(0));
        queue = first.Get(0);
        // Ports of switches towards hosts mark as well.
        red.Install(devices.Get(1));
        Ipv4InterfaceContainer own = addresses.Assign(devices);
        addresses.NewNetwork();
        return own.GetAddress(0);
    };
    Ptr<QueueDisc> bottleneck, unused;
    connect(middle.Get(0), middle.Get(1), true, bottleneck);
    std::vector<Ipv4Address> receivers;
    for (uint32_t host = 0; host < hosts; host++)
    {
        connect(left.Get(host), middle.Get(0), false, unused);
        receivers.push_back(connect(right.Get(host), middle.Get(1), false, unused));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t index = 0; index < transfers.size(); index++)
    {
        const Transfer& own = transfers[index];
        Simulator::Schedule(NanoSeconds(own.start),
                            &Start,
                            index,
                            left.Get(own.from),
                            right.Get(own.to),
                            receivers[own.to]);
    }
    Simulator::Schedule(MilliSeconds(0), &Sample, bottleneck);
    Simulator::Stop(Seconds(5));
    Simulator::Run();

    std::vector<double> times;
    for (const Transfer& own : transfers)
    {
        if (!own.ended.IsZero())
        {
            times.push_back((own.ended - own.began).GetNanoSeconds() / 1000.0);
        }
    }
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (double time : times)
    {
        sum += time;
    }
    size_t at = std::min(times.size() - 1, (size_t)(times.size() * 0.99));
    std::printf("flows %zu of %zu\n", times.size(), transfers.size());
    std::printf("mean %.1f us, p99 %.1f us\n", sum / times.size(), times[at]);
    std::printf("mean queue %.2f packets\n", queue_sum / queue_samples);
    std::printf("marks %u, drops %u\n",
                (unsigned)bottleneck->GetStats().nTotalMarkedPackets,
                (unsigned)bottleneck->GetStats().nTotalDroppedPackets);
    Simulator::Destroy();
    return 0;
}
