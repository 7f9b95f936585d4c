import ArgumentParser
import Glibc

/// The process of the ``Innocents``, the clients that are measured during an attack.
///
/// Measures and prints the daemon's capacity. From the command "go" until "stop", posts at a share of that rate; with
/// the share 0, posts as fast as possible. After "stop", prints the results, and the part of the machine that was
/// available to the innocents and the daemon.
struct InnocentsProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "innocents", shouldDisplay: false)

    /// The lower bound of the available part. Without it, a fully loaded machine would permit any rate.
    private static let leastAvailable = 0.4

    @Option var socket: String
    @Option var daemon: Int32
    @Option var user: UInt32
    @Option var share: Double
    @Flag(help: "Also use values, and measure the answers.") var values = false

    func run() throws {
        // The priority is high, so that the results depend on the daemon rather than on the kernel's scheduler.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)
        guard let loop = LoopThread(daemon: daemon) else { throw HarnessError("notifyd has no event loop") }
        try User(rawValue: user)?.switchUser()
        var commands = CommandReader()
        let innocents = try Innocents(socket)
        let pinger = try Pinger(socket, loop)
        let probe = values ? try ValueProbe(socket) : nil
        var speed = MachineSpeed()
        let capacity = innocents.measureCapacity { speed.step() }
        let fullSpeed = speed.take()
        Output.write("capacity rate=\(Int(capacity))")
        commands.wait(for: "go")
        let (before, loopBefore, ownBefore) = (innocents.delivered, loop.times, SchedulingTimes.own)
        let begin = ContinuousClock.now
        let wanted = share == 0 ? Double.greatestFiniteMagnitude : share * capacity
        let start = innocents.posted
        while !commands.contains("stop") {
            let seconds = (ContinuousClock.now - begin) / .seconds(1)
            let due = min(seconds * wanted - Double(innocents.posted - start), 1e6)
            innocents.post(atMost: Int(due))
            pinger.step()
            probe?.proceed()
            speed.step()
            Connection.serve(
                innocents.connections + [pinger.connection] + (probe?.connections ?? []), waitingMilliseconds: 1)
        }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let delivered = Double(innocents.delivered - before)
        let (loopTimes, ownTimes) = (loop.times, SchedulingTimes.own)
        let cost = (loopTimes.running - loopBefore.running) / .microseconds(1) / max(1, delivered)
        let waiting = max(loopTimes.waiting - loopBefore.waiting, ownTimes.waiting - ownBefore.waiting)
        let available = max(
            Self.leastAvailable, min(1, speed.take() / fullSpeed) * (1 - waiting / .seconds(1) / seconds))
        pinger.finish()
        probe?.finish()
        innocents.settle()
        for connection in innocents.connections + (probe?.connections ?? []) where !connection.isOpen {
            Output.write("refused by closing the connection")
        }
        if let refusal = innocents.refusal ?? probe?.refusal { Output.write("refused \(refusal)") }
        Output.write(
            "innocents wanted=\(wanted) available=\(available) rate=\(delivered / seconds) cost=\(cost) posted=\(innocents.posted) lost=\(innocents.lost) "
                + "disordered=\(innocents.disordered) pings=\(pinger.count) ping=\(pinger.worst / .milliseconds(1)) "
                + "work=\(pinger.worstOfProcessor / .milliseconds(1)) "
                + "workBegin=\((pinger.worstBegin - begin) / .seconds(1))"
                + (probe?.figures ?? []).map { " \($0.name)=\($0.value)" }.joined())
    }
}
