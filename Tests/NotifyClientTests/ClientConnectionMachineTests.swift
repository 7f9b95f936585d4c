import Testing

@testable import NotifyClient

/// Every state with every event, including late and repeated events.
@Suite struct ClientConnectionMachineTests {
    enum StateName: CaseIterable {
        case idle, connecting, greeting, ready, leaving, waiting, draining, closingToRetry, closingToStop, stopped
    }

    enum Event: CaseIterable {
        case start, connected, connectFailed, welcomed, fatalError, finalError, protocolViolated, closing, disconnected
        case timeReached, stop, drained
    }

    private static let settings = ClientConnectionMachine.Settings(
        backoff: .init(waits: .seconds(2) ... .seconds(8)), greetingTimeout: .seconds(10),
        closingTimeout: .seconds(5))
    private static let lost = NotifyError(.connectionLost, "lost")
    private static let slow = NotifyError(.tooSlow, "slow")
    private static let forbidden = NotifyError(.forbidden, "forbidden")

    private func machine(in state: StateName) -> ClientConnectionMachine {
        var machine = ClientConnectionMachine(Self.settings)
        for event in Self.path(to: state) { apply(event, to: &machine, now: .zero) }
        return machine
    }

    private static func path(to state: StateName) -> [Event] {
        switch state {
        case .idle: []
        case .connecting: [.start]
        case .greeting: [.start, .connected]
        case .ready: [.start, .connected, .welcomed]
        case .leaving: [.start, .connected, .welcomed, .closing]
        case .waiting: [.start, .connectFailed]
        case .draining: [.start, .connected, .welcomed, .stop]
        case .closingToRetry: [.start, .connected, .welcomed, .fatalError]
        case .closingToStop: [.start, .connected, .welcomed, .finalError]
        case .stopped: [.stop]
        }
    }

    /// Applies the event, and returns a description of the result.
    @discardableResult
    private func apply(_ event: Event, to machine: inout ClientConnectionMachine, now: Duration) -> String {
        switch event {
        case .start: return "\(machine.start())"
        case .connected: return "\(machine.connected(now: now))"
        case .connectFailed: return describe(machine.connectFailed(Self.lost, now: now, jitter: 1))
        case .welcomed: return "\(machine.welcomed())"
        case .fatalError:
            machine.fatalErrorReceived(Self.slow)
            return "-"
        case .finalError:
            machine.fatalErrorReceived(Self.forbidden)
            return "-"
        case .protocolViolated: return "\(machine.protocolViolated(NotifyError(.protocolViolation, "broken")))"
        case .closing:
            machine.closingReceived(lastRequest: 7, now: now)
            return "-"
        case .disconnected: return describe(machine.disconnected(Self.lost, now: now, jitter: 1))
        case .timeReached: return "\(machine.timeReached(now))"
        case .stop: return "\(machine.stop(deadline: now + Self.settings.closingTimeout))"
        case .drained: return "\(machine.drained())"
        }
    }

    private func describe(_ action: ClientConnectionMachine.DisconnectAction) -> String {
        switch action {
        case .retry(let moment): "retry at \(moment)"
        case .end(let error): "end \(error?.code.rawValue ?? "well")"
        case .none: "none"
        }
    }

    /// The results of all events in each state, in the order of `Event.allCases`. The events occur at 100 seconds,
    /// after every deadline.
    private static let answers: [StateName: [String]] = [
        .idle: ["connect", "close", "none", "none", "-", "-", "none", "-", "none", "none", "end", "none"],
        .connecting: [
            "none", "greet", "retry at 102.0 seconds", "none", "-", "-", "none", "-", "none", "none", "end", "none",
        ],
        .greeting: [
            "none", "close", "none", "open", "-", "-", "close", "-", "retry at 102.0 seconds", "close", "close", "none",
        ],
        .ready: [
            "none", "close", "none", "close", "-", "-", "close", "-", "retry at 102.0 seconds", "none", "drain", "none",
        ],
        .leaving: [
            "none", "close", "none", "none", "-", "-", "close", "-", "retry at 102.0 seconds", "close", "close", "none",
        ],
        .waiting: ["none", "close", "none", "none", "-", "-", "none", "-", "none", "connect", "end", "none"],
        .draining: ["none", "close", "none", "close", "-", "-", "close", "-", "end well", "close", "none", "close"],
        .closingToRetry: [
            "none", "close", "none", "none", "-", "-", "none", "-", "retry at 102.0 seconds", "none", "close", "none",
        ],
        .closingToStop: [
            "none", "close", "none", "none", "-", "-", "none", "-", "end forbidden", "none", "none", "none",
        ],
        .stopped: ["none", "close", "none", "none", "-", "-", "none", "-", "none", "none", "none", "none"],
    ]

    @Test(arguments: StateName.allCases, Event.allCases)
    func `every state handles every event`(state: StateName, event: Event) throws {
        var machine = machine(in: state)
        let index = try #require(Event.allCases.firstIndex(of: event))
        #expect(apply(event, to: &machine, now: .seconds(100)) == Self.answers[state]?[index])
    }

    @Test(arguments: StateName.allCases, Event.allCases)
    func `a repeated event never connects or ends twice`(state: StateName, event: Event) {
        var machine = machine(in: state)
        let first = apply(event, to: &machine, now: .seconds(100))
        let second = apply(event, to: &machine, now: .seconds(100))
        if first == "connect" || first.hasPrefix("end") || first.hasPrefix("retry") { #expect(second == "none") }
    }

    @Test(arguments: StateName.allCases)
    func `stopping ends the machine in every state`(state: StateName) throws {
        var machine = machine(in: state)
        _ = machine.stop(deadline: Self.settings.closingTimeout)
        // The deadline passes before the channel reports the disconnection.
        _ = machine.timeReached(.seconds(1000))
        _ = machine.disconnected(nil, now: .seconds(1000), jitter: 0)
        #expect(machine.stopped != nil)
        #expect(machine.start() == .none)
    }

    @Test func `the backoff doubles up to its maximum`() {
        var machine = ClientConnectionMachine(Self.settings)
        _ = machine.start()
        var waits: [String] = []
        for _ in 0..<5 {
            waits.append(describe(machine.connectFailed(Self.lost, now: .zero, jitter: 1)))
            _ = machine.timeReached(.seconds(1000))
        }
        #expect(waits == [2, 4, 8, 8, 8].map { "retry at \($0).0 seconds" })
    }

    @Test func `a welcome resets the backoff`() {
        var machine = ClientConnectionMachine(Self.settings)
        _ = machine.start()
        for _ in 0..<4 {
            _ = machine.connectFailed(Self.lost, now: .zero, jitter: 1)
            _ = machine.timeReached(.seconds(1000))
        }
        _ = machine.connected(now: .zero)
        _ = machine.welcomed()
        #expect(describe(machine.disconnected(nil, now: .zero, jitter: 0)) == "retry at 1.0 seconds")
    }

    @Test func `a failed first connection ends the machine if it is required, a later failure does not`() {
        var settings = Self.settings
        settings.requiresFirstConnection = true
        var machine = ClientConnectionMachine(settings)
        _ = machine.start()
        #expect(describe(machine.connectFailed(Self.lost, now: .zero, jitter: 1)) == "end connectionLost")

        machine = ClientConnectionMachine(settings)
        _ = machine.start()
        _ = machine.connected(now: .zero)
        _ = machine.welcomed()
        _ = machine.disconnected(nil, now: .zero, jitter: 1)
        _ = machine.timeReached(.seconds(1000))
        #expect(describe(machine.connectFailed(Self.lost, now: .zero, jitter: 1)).hasPrefix("retry"))
    }

    @Test func `a full listen queue does not end the machine, even if a first connection is required`() {
        var settings = Self.settings
        settings.requiresFirstConnection = true
        var machine = ClientConnectionMachine(settings)
        _ = machine.start()
        let action = machine.connectFailed(Self.lost, queueIsFull: true, now: .zero, jitter: 1)
        #expect(describe(action) == "retry at 2.0 seconds")
        #expect(machine.lastFailure?.code == .connectionLost)
        #expect(machine.timeReached(.seconds(2)) == .connect)
        #expect(describe(machine.connectFailed(Self.lost, now: .seconds(2), jitter: 1)) == "end connectionLost")
    }

    @Test(arguments: [NotifyError.Code.unsupportedVersion, .forbidden, .invalidSocketPath])
    func `permanent errors end the machine`(code: NotifyError.Code) {
        var machine = ClientConnectionMachine(Self.settings)
        _ = machine.start()
        let action = machine.connectFailed(NotifyError(code, "no"), now: .zero, jitter: 1)
        #expect(describe(action) == "end \(code.rawValue)")

        machine = ClientConnectionMachine(Self.settings)
        _ = machine.start()
        _ = machine.connected(now: .zero)
        machine.fatalErrorReceived(NotifyError(code, "no"))
        #expect(describe(machine.disconnected(nil, now: .zero, jitter: 1)) == "end \(code.rawValue)")
    }

    @Test func `the last processed request is known until the next connection`() {
        var machine = machine(in: .leaving)
        #expect(machine.lastProcessed == 7)
        _ = machine.disconnected(nil, now: .zero, jitter: 1)
        #expect(machine.lastProcessed == 7)
        _ = machine.timeReached(.seconds(1000))
        #expect(machine.lastProcessed == nil)
    }

    @Test func `each deadline applies only in its state`() {
        #expect(machine(in: .idle).deadline == nil)
        #expect(machine(in: .connecting).deadline == nil)
        #expect(machine(in: .greeting).deadline == .seconds(10))
        #expect(machine(in: .ready).deadline == nil)
        #expect(machine(in: .leaving).deadline == .seconds(5))
        #expect(machine(in: .waiting).deadline == .seconds(2))
        #expect(machine(in: .draining).deadline == .seconds(5))
        #expect(machine(in: .stopped).deadline == nil)
    }

    @Test func `nothing happens before the deadline`() {
        var machine = machine(in: .waiting)
        #expect(machine.timeReached(.milliseconds(1999)) == .none)
        #expect(machine.timeReached(.seconds(2)) == .connect)
    }
}
