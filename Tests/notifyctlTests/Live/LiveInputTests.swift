import Glibc
import Testing

@testable import notifyctl

/// Serialized, because a process can have one `SignalPipe` at a time.
@Suite(.serialized, .timeLimit(.minutes(25))) struct LiveInputTests {
    private func withInput(
        sequenceMilliseconds: Int32 = 600_000, _ body: (_ input: LiveInput, _ write: Int32) async throws -> Void
    ) async throws {
        let (read, write) = try makePipe()
        defer { close(read) }
        let input = LiveInput(descriptor: read, sequenceMilliseconds: sequenceMilliseconds)
        defer { input.end() }
        try await body(input, write)
    }

    @Test func `keys arrive, even if their bytes are split`() async throws {
        try await withInput { (input, output) async throws in
            write(output, "a\u{1B}[", 3)
            #expect(try await input.next() == .keys([.character("a")]))
            write(output, "A", 1)
            #expect(try await input.next() == .keys([.up]))
            close(output)
        }
    }

    @Test func `an escape byte alone is a key`() async throws {
        try await withInput(sequenceMilliseconds: 1) { (input, output) async throws in
            write(output, "\u{1B}", 1)
            #expect(try await input.next() == .keys([.escape]))
            close(output)
        }
    }

    @Test func `a closed terminal ends the input`() async throws {
        try await withInput { (input, output) async throws in
            close(output)
            #expect(try await input.next() == .end)
        }
    }

    @Test func `a signal is an event`() async throws {
        try await withInput { (input, output) async throws in
            // Sent to the process, because threads of Dispatch block signals.
            kill(getpid(), SIGWINCH)
            #expect(try await input.next() == .redraw)
            close(output)
        }
    }

    @Test func `signals stop, continue and end the command`() {
        typealias Event = LiveInput.Event
        #expect(Event(signals: []) == nil)
        #expect(Event(signals: [SIGWINCH, SIGWINCH]) == .redraw)
        #expect(Event(signals: [SIGTSTP, SIGWINCH]) == .stop)
        #expect(Event(signals: [SIGTSTP, SIGCONT]) == .redraw)
        #expect(Event(signals: [SIGCONT, SIGTSTP]) == .stop)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { #expect(Event(signals: [SIGTSTP, signal]) == .end) }
    }

    @Test func `a cancelled task does not wait for input`() async throws {
        try await withInput { (input, output) async throws in
            let waiting = Task { try await input.next() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            close(output)
        }
    }

    @Test func `the actions of the signals are restored`() {
        func handler(of signal: Int32) -> Int {
            var action = sigaction()
            sigaction(signal, nil, &action)
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        }
        let before = handler(of: SIGWINCH)
        signal(SIGUSR2, SIG_IGN)
        do {
            let pipe = SignalPipe([SIGWINCH, SIGUSR2])
            #expect(handler(of: SIGWINCH) != before)
            kill(getpid(), SIGUSR2)
            kill(getpid(), SIGWINCH)
            _ = Blocking.poll([(pipe.descriptor, POLLIN)], isWaiting: true)
            #expect(pipe.received() == [SIGWINCH], "an ignored signal remains ignored")
            #expect(pipe.received() == [])
        }
        #expect(handler(of: SIGWINCH) == before)
        signal(SIGUSR2, SIG_DFL)
    }

    @Test func `a signal of the kernel is told from that of a process`() {
        let pipe = SignalPipe([SIGWINCH, SIGALRM])
        kill(getpid(), SIGWINCH)
        _ = Blocking.poll([(pipe.descriptor, POLLIN)], isWaiting: true)
        #expect(pipe.arrived().map(\.isFromKernel) == [false])
        // The kernel sends the signal of a timer.
        var timer = itimerval()
        timer.it_value.tv_usec = 1
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
        _ = Blocking.poll([(pipe.descriptor, POLLIN)], isWaiting: true)
        let arrivals = pipe.arrived()
        #expect(arrivals.map(\.signal) == [SIGALRM] && arrivals.map(\.isFromKernel) == [true])
    }
}
