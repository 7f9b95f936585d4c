/// A common deadline for several successive requests.
struct RequestDeadline {
    private let moment: Duration?
    private let clock: any ClientClock

    /// - Parameter timeout: The time limit of all requests together. If nil, each request has the time limit of the
    ///   client.
    init(after timeout: Duration?, _ clock: any ClientClock) {
        moment = timeout.map { clock.now + $0 }
        self.clock = clock
    }

    /// The time limit of the next request; nil for the client's time limit.
    var left: Duration? { moment.map { max(.zero, $0 - clock.now) } }
}
