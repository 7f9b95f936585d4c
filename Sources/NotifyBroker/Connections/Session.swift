import NotifyWire

/// The protocol state of a connection. A pure state machine: the state determines the action for each frame, and the
/// broker performs it.
struct Session: Equatable {
    enum State: Equatable {
        /// Waiting for the hello, until the deadline.
        case greeting(deadline: Duration)
        case open
        /// The daemon is draining: frames are ignored.
        case draining
        /// A final error was sent. Waiting, until the deadline, for the peer to read it.
        case closing(deadline: Duration)
    }

    enum FrameAction: Equatable {
        case greet
        case handle(FrameKind)
        /// Answer with the error and keep the connection open.
        case refuse(WireError)
        /// Answer with the error and close.
        case fail(WireError)
        case ignore
    }

    private(set) var state: State
    /// The highest number of a request that was processed or refused.
    private(set) var lastRequest: UInt64 = 0
    /// Whether a valid hello was received.
    private(set) var wasGreeted = false

    init(greetingDeadline: Duration) {
        state = .greeting(deadline: greetingDeadline)
    }

    func frameReceived(kind rawKind: UInt8) -> FrameAction {
        switch (state, FrameKind(rawValue: rawKind)) {
        case (.draining, _), (.closing, _):
            .ignore
        case (.greeting, .hello):
            .greet
        case (.greeting, _):
            .fail(WireError(.greetingExpected, "the first frame on notifyd's socket must be a hello"))
        case (.open, .hello):
            .fail(WireError(.malformedFrame, "a second hello on one connection"))
        case (.open, let kind?) where kind.rawValue < FrameKind.welcome.rawValue:
            .handle(kind)
        case (.open, _):
            .refuse(WireError(.unknownFrame, "clients send no frames of kind \(rawKind) in this protocol version"))
        }
    }

    /// Records the number of a request. Numbers ascend, so that `closing` can name the last request processed.
    ///
    /// - Throws: `invalidArgument` if the number is not higher than all earlier ones.
    mutating func requestReceived(_ request: UInt64) throws(WireError) {
        guard request > lastRequest else {
            throw WireError(
                .invalidArgument,
                "request \(request) is not higher than \(lastRequest): request numbers must increase on a connection")
        }
        lastRequest = request
    }

    mutating func greeted() {
        if case .greeting = state { (state, wasGreeted) = (.open, true) }
    }

    mutating func drainBegan() {
        switch state {
        case .open, .greeting: state = .draining
        case .draining, .closing: break
        }
    }

    mutating func failed(closingDeadline: Duration) {
        switch state {
        case .greeting, .open, .draining: state = .closing(deadline: closingDeadline)
        case .closing: break
        }
    }

    /// The time at which the connection fails for lack of a hello, or is closed after a final error; nil if there is no
    /// deadline.
    var deadline: Duration? {
        switch state {
        case .greeting(let deadline), .closing(let deadline): deadline
        case .open, .draining: nil
        }
    }

    var isClosing: Bool {
        if case .closing = state { true } else { false }
    }
}
