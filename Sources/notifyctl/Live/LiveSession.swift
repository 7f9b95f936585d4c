import NotifyClient

/// Runs a live view on a terminal: passes events to its state, and carries the effects out.
struct LiveSession<State: LiveState>: Sendable {
    private enum Event: Sendable {
        case input(LiveInput.Event)
        case intervalPassed
        case reported(State.Report)
        /// The daemon can't be reached, for this reason.
        case failed(String)
    }

    let terminal: Terminal
    let interval: Duration
    /// Requests a report from the daemon.
    let fetch: @Sendable (NotificationClient, State.Request) async throws -> State.Report
    private let interruption = Interruption()

    init(
        terminal: Terminal, interval: Duration,
        fetch: @escaping @Sendable (NotificationClient, State.Request) async throws -> State.Report
    ) {
        self.terminal = terminal
        self.interval = interval
        self.fetch = fetch
    }

    /// Shows reports until the user quits, the command is interrupted, or the client ends with an error.
    func run(_ client: NotificationClient, state: State, first report: State.Report) async throws {
        let input = LiveInput()
        defer { input.end() }
        terminal.enter()
        defer { terminal.leave() }
        try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var state = state
            var event = Event.reported(report)
            addInput(input, to: &group)
            addTimer(state.longestInterval, to: &group)
            while true {
                for effect in handle(event, input, &state) {
                    switch effect {
                    case .quit: return
                    case .request(let request): addRequest(request, client, to: &group)
                    }
                }
                switch event {
                case .input(.end): return
                case .input: addInput(input, to: &group)
                case .intervalPassed: addTimer(state.longestInterval, to: &group)
                case .reported, .failed: break
                }
                try await draw(&state)
                guard let next = try await group.next() else { return }
                event = next
            }
        }
    }

    private func handle(_ event: Event, _ input: LiveInput, _ state: inout State) -> [State.Effect] {
        switch event {
        case .input(.keys(let keys)): return keys.compactMap { state.keyPressed($0) }
        case .input(.redraw): terminal.enter()
        case .input(.stop):
            terminal.leave()
            input.stopProcess()
            terminal.enter()
        case .input(.end): break
        case .intervalPassed: return state.intervalPassed().map { [$0] } ?? []
        case .reported(let report): return state.reportReceived(report).map { [$0] } ?? []
        case .failed(let message): state.requestFailed(message)
        }
        return []
    }

    private func draw(_ state: inout State) async throws {
        let screen = terminal.size
        var output = StandardOutput()
        let frame = state.frame(for: screen).output(on: screen)
        output.gather { $0.append(contentsOf: frame.utf8) }
        do {
            try await output.flush(until: interruption)
        } catch StandardOutput.Failure.interrupted {
            // `LiveInput` reports the interruption as an event, too.
        }
    }

    // MARK: Sources of events. Each task waits for one event.

    private func addInput(_ input: LiveInput, to group: inout ThrowingTaskGroup<Event, any Error>) {
        group.addTask {
            let event = try await input.next()
            if event == .end { interruption.interrupt(.signal) }
            return .input(event)
        }
    }

    private func addTimer(_ longest: Duration?, to group: inout ThrowingTaskGroup<Event, any Error>) {
        let interval = min(interval, longest ?? interval)
        group.addTask {
            try await Task.sleep(for: interval)
            return .intervalPassed
        }
    }

    private func addRequest(
        _ request: State.Request, _ client: NotificationClient, to group: inout ThrowingTaskGroup<Event, any Error>
    ) {
        group.addTask {
            do {
                return .reported(try await fetch(client, request))
            } catch let error as NotifyError where error.code == .timedOut {
                return .failed(RequestPace.unanswered)
            } catch let error as NotifyError where error.isTransient {
                let reason = (error.cause as? NotifyError).map { ": \($0.message)" } ?? ""
                return .failed("disconnected from notifyd\(reason); reconnecting")
            }
        }
    }
}

extension NotifyError {
    /// Whether a later request may succeed: the client is going to reconnect, or the daemon has not answered in time,
    /// for example because it is frozen.
    var isTransient: Bool { [.connectionLost, .notConnected, .daemonClosing, .timedOut].contains(code) }
}
