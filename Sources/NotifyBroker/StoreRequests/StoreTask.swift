import NotifyLog
import NotifyWire

/// A kind of requests that wait for the store, in the order in which they begin.
package enum StoreRequestKind: Int, CaseIterable, Sendable {
    case search
    case check
    /// A request for the health of the store, which waits for an empty commit.
    case probe
    case summary
    case purge
    case deadLetters
    case backup
}

/// What the store has to do for a request of a kind: how it begins, and what an answer means.
protocol StoreTask {
    static var kind: StoreRequestKind { get }
    /// What is not done if the daemon stops before the answer. The client reads it.
    static var refusal: String { get }
    /// Whether later requests of the connection wait for the answer.
    static var holdsConnection: Bool { get }
    /// Whether the store answers at once. If it does not, it has failed.
    static var isShort: Bool { get }
    /// The memory of the request, in bytes; 0 if the number of requests is limited instead.
    var byteCount: Int { get }

    /// Whether the next request of the kind may begin now. The store works on none of the kind.
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
    /// The request has ended with its connection. Work that has begun continues.
    func abandoned(in broker: inout Broker)
}

/// How a request has begun.
enum StoreTaskStart {
    /// The store is asked. Its answer is passed to the task.
    case asks(StoreWork)
    /// The request waits for an event other than an answer of the store.
    case waits
    /// Its kind keeps the request from now on.
    case leaves
}

/// Whether a request has ended with an answer.
enum StoreTaskProgress {
    case ended
    /// Another answer to the same work follows.
    case continues
    /// The store must work on the request again, in its turn.
    case again
}

extension StoreTask {
    static var isShort: Bool { false }
    var byteCount: Int { 0 }
    func mayBegin(in broker: borrowing Broker) -> Bool { true }
    func abandoned(in broker: inout Broker) {}

    /// The store has answered work that the task has not asked for.
    func unexpected(_ answer: StoreAnswer) -> Never {
        preconditionFailure("the store has answered a \(Self.kind) with \(answer)")
    }
}
