import NotifyClient

/// Runs a live view on a terminal: passes events to its state, and carries the effects out.
struct LiveSession<State: LiveState>: Sendable {
    private enum Event: Sendable {
        case input(LiveInput.Event)
        case intervalPassed
        case opened(State, State.Report)
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
    ///
    /// - Parameter open: Requests the first report, and makes the state that shows it. The screen is entered
    ///   afterwards, so that an error is printed as a plain line.
    func run(
        _ configuration: NotificationClient.Configuration,
        open: @escaping @Sendable (NotificationClient) async throws -> (state: State, first: State.Report)
    ) async throws {
        let input = LiveInput()
        defer { input.end() }
        terminal.takeKeys()
        defer { terminal.leave() }
        try await withNotificationClient(configuration: configuration) { client in
            try await show(client, input, open: open)
        }
    }

    private func show(
        _ client: NotificationClient, _ input: LiveInput,
        open: @escaping @Sendable (NotificationClient) async throws -> (state: State, first: State.Report)
    ) async throws {
        try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var state: State?
            addInput(input, to: &group)
            group.addTask {
                let (state, report) = try await open(client)
                return .opened(state, report)
            }
            while let event = try await group.next() {
                for effect in handle(event, input, &state) {
                    switch effect {
                    case .quit: return
                    case .request(let request): addRequest(request, client, to: &group)
                    }
                }
                switch event {
                case .input(.end): return
                case .input: addInput(input, to: &group)
                case .opened, .intervalPassed: addTimer(state?.longestInterval, to: &group)
                case .reported, .failed: break
                }
                if var shown = state.take() {
                    try await draw(&shown)
                    state = shown
                }
            }
        }
    }

    /// - Parameter state: Nil before the first report.
    private func handle(_ event: Event, _ input: LiveInput, _ state: inout State?) -> [State.Effect] {
        switch event {
        case .input(.keys(let keys)) where state == nil: return keys.contains(.character("q")) ? [.quit] : []
        case .input(.keys(let keys)): return keys.compactMap { state?.keyPressed($0) }
        case .input(.redraw): resume(isShown: state != nil)
        case .input(.stop):
            terminal.leave()
            input.stopProcess()
            resume(isShown: state != nil)
        case .input(.end): break
        case .intervalPassed: return (state?.intervalPassed()).map { [$0] } ?? []
        case .opened(let opened, let report):
            terminal.enter()
            state = opened
            return (state?.reportReceived(report)).map { [$0] } ?? []
        case .reported(let report): return (state?.reportReceived(report)).map { [$0] } ?? []
        case .failed(let message): state?.requestFailed(message)
        }
        return []
    }

    private func resume(isShown: Bool) {
        if isShown { terminal.enter() } else { terminal.takeKeys() }
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
