import NotifyClient

/// Runs `top` on a terminal: passes events to the state, and carries its effects out.
struct TopSession: Sendable {
    private enum Event: Sendable {
        case input(TopInput.Event)
        case intervalPassed
        case reported(TopReport)
        /// The daemon can't be reached, for this reason.
        case failed(String)
    }

    let terminal: Terminal
    let views: [TopView]
    let interval: Duration
    private let interruption = Interruption()

    init(terminal: Terminal, views: [TopView] = TopView.all, interval: Duration) {
        self.terminal = terminal
        self.views = views
        self.interval = interval
    }

    /// Shows reports until the user quits, the command is interrupted, or the client ends with an error.
    func run(_ client: NotifyClient, state: TopState, first report: TopReport) async throws {
        let input = TopInput()
        defer { input.end() }
        terminal.enter()
        defer { terminal.leave() }
        try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var state = state
            var event = Event.reported(report)
            addInput(input, to: &group)
            addTimer(state.view, to: &group)
            while true {
                for effect in handle(event, input, &state) {
                    switch effect {
                    case .quit: return
                    case .request(let name): addRequest(name, client, to: &group)
                    }
                }
                switch event {
                case .input(.end): return
                case .input: addInput(input, to: &group)
                case .intervalPassed: addTimer(state.view, to: &group)
                case .reported, .failed: break
                }
                try await draw(&state)
                guard let next = try await group.next() else { return }
                event = next
            }
        }
    }

    private func handle(_ event: Event, _ input: TopInput, _ state: inout TopState) -> [TopState.Effect] {
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

    private func draw(_ state: inout TopState) async throws {
        let screen = terminal.size
        var output = StandardOutput()
        output.append(state.frame(for: screen).output(on: screen))
        do {
            try await output.flush(until: interruption)
        } catch StandardOutput.Failure.interrupted {
            // `TopInput` reports the interruption as an event, too.
        }
    }

    // MARK: Sources of events. Each task waits for one event.

    private func addInput(_ input: TopInput, to group: inout ThrowingTaskGroup<Event, any Error>) {
        group.addTask {
            let event = try await input.next()
            if event == .end { interruption.interrupt(.signal) }
            return .input(event)
        }
    }

    private func addTimer(_ view: TopView, to group: inout ThrowingTaskGroup<Event, any Error>) {
        let interval = min(interval, view.longestInterval ?? interval)
        group.addTask {
            try await Task.sleep(for: interval)
            return .intervalPassed
        }
    }

    private func addRequest(
        _ name: String, _ client: NotifyClient, to group: inout ThrowingTaskGroup<Event, any Error>
    ) {
        guard let view = views.first(where: { $0.name == name }) else { return }
        group.addTask {
            do {
                return .reported(try await client.report(of: view))
            } catch let error as NotifyError where error.isConnectionLoss {
                let reason = (error.cause as? NotifyError).map { ": \($0.message)" } ?? ""
                return .failed("disconnected from notifyd\(reason); reconnecting")
            }
        }
    }
}

extension NotifyError {
    /// Whether the client is going to reconnect after this error.
    var isConnectionLoss: Bool { [.connectionLost, .notConnected, .daemonClosing].contains(code) }
}
