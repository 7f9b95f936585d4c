import NotifyLog
import NotifyWire

/// The kinds of requests that wait for the store, in the order in which a tick begins them.
package enum StoreRequestKind: Int, CaseIterable, Sendable {
    /// Made once: each access of `allCases` makes an array.
    static let all = allCases

    case search
    case check
    /// A request for the health of the store. Waits for the outcome of the next batch, which may be empty.
    case probe
    case summary
    case purge
    case deadLetters
    case backup
}

/// The work of the store for a request of one kind: how it begins, and how its answers are handled.
protocol StoreTask {
    static var kind: StoreRequestKind { get }
    /// The beginning of the error message if the daemon stops before the answer, such as "not backed up".
    static var refusal: String { get }
    /// Whether later requests of the connection wait for the answer.
    static var holdsConnection: Bool { get }
    /// Whether the work takes the store little time. If the answer is late, storage counts as failed.
    static var isShort: Bool { get }
    /// Whether the answer depends on the rights of the client. If rights have changed meanwhile, the store works on the
    /// request again.
    static var dependsOnRights: Bool { get }
    /// Whether the store still owes an answer to work that has begun. If it does when the connection ends, the request
    /// stays the current one until that answer. Otherwise the next request may begin at once.
    var awaitsAnswer: Bool { get }
    /// The memory of the request, in bytes; 0 if the number of requests is limited instead.
    var byteCount: Int { get }

    /// Whether the request may begin now. Called only if the kind has no current request.
    func mayBegin(in broker: borrowing Broker) -> Bool
    /// Begins the work.
    ///
    /// - Throws: The error with which the request is refused.
    mutating func begin(
        _ request: RequestID, in broker: inout Broker, now: BrokerTime
    ) throws(WireError) -> StoreTaskStart
    /// Handles an answer.
    ///
    /// - Parameter request: The request to answer; nil if its connection has ended.
    mutating func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress
    /// Must be called when the connection has ended. Work that has begun continues.
    func abandoned(in broker: inout Broker)
}

/// The way in which a request has begun.
enum StoreTaskStart {
    /// The store is asked for work. Its answer is passed to the task.
    case asks(StoreWork)
    /// The request waits for an event other than an answer of the store.
    case waits
    /// The request leaves the requests that wait for the store: from now on, it is kept elsewhere.
    case leaves
}

/// The state of a request after an answer.
enum StoreTaskProgress {
    case ended
    /// Another answer to the same work follows.
    case continues
    /// The request must begin again, and waits for its turn.
    case again
}

extension StoreTask {
    static var isShort: Bool { false }
    static var dependsOnRights: Bool { false }
    var awaitsAnswer: Bool { true }
    var byteCount: Int { 0 }
    func mayBegin(in broker: borrowing Broker) -> Bool { true }
    func abandoned(in broker: inout Broker) {}

    /// Traps, because the store has answered work that the task has not requested.
    func unexpected(_ answer: StoreAnswer) -> Never {
        preconditionFailure("the store has answered a \(Self.kind) with \(answer)")
    }
}
