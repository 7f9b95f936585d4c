/// A delegate that is many: each call goes to all of them, in order of addition.
///
/// ```swift
/// protocol PlayerDelegate: AnyObject, Sendable {
///     func playerDidStart(_ track: String)
/// }
///
/// let delegates = MulticastDelegate<any PlayerDelegate>()
/// delegates += screen
/// delegates.invoke { $0.playerDidStart("Intro") }
/// ```
///
/// Delegates are held weakly and need no removal. One that is added during an invocation is not called by it; one that
/// is removed before its turn came is not called any more. No lock is held while delegates run, so that they may add,
/// remove and invoke.
///
/// A multicast delegate is a `Sequence` of those that live. So answers can be combined, and asynchronous ones awaited:
///
/// ```swift
/// let isReady = delegates.reduce(true) { $0 && $1.isReady }
/// for delegate in delegates { await delegate.playerWillStop() }
/// ```
///
/// A class that has one and conforms to the delegate protocol passes each call on. It can then be a delegate itself
/// wherever one is asked for:
///
/// ```swift
/// final class PlayerDelegates: PlayerDelegate {
///     let delegates = MulticastDelegate<any PlayerDelegate>()
///     func playerDidStart(_ track: String) { delegates.invoke { $0.playerDidStart(track) } }
/// }
/// ```
///
/// ## Threads
///
/// A multicast delegate is `Sendable` if its delegates are, and may then be used on several threads at once: delegates are
/// called on the thread of the caller. Otherwise the compiler keeps it, and whatever has it, where its delegates are.
public final class MulticastDelegate<T> {
    /// A delegate is registered for everything.
    struct Everything: OptionSet {
        let rawValue: UInt64
        static var everything: Everything { Everything(rawValue: .max) }
    }

    private let receivers = BroadcastReceivers<AnyObject>()

    /// Makes one without delegates.
    public init() {}

    /// How many delegates live.
    public var count: Int { receivers.count }

    /// Whether no delegate lives.
    public var isEmpty: Bool { receivers.isEmpty }

    /// Adds a delegate at the end. One that is there already stays where it is and is not called twice.
    ///
    /// - Precondition: The delegate is an instance of a class. A value would be copied into a box that goes at once.
    public func add(_ delegate: T) {
        let object = Self.object(of: delegate)
        receivers.add(object, for: Everything.everything) { [weak object] in object }
    }

    /// Removes a delegate. It is not called any more, also not by an invocation in progress that has not come to it.
    /// One that is not there is no error.
    public func remove(_ delegate: T) {
        receivers.remove(Self.object(of: delegate), for: Everything.everything)
    }

    private static func object(of delegate: T) -> AnyObject {
        // As Any, because for a T that is a protocol the type would be that of the protocol.
        let type = type(of: delegate as Any)
        // Not a precondition, whose message an optimized build leaves out.
        guard type is AnyClass else {
            let rule = "a delegate is held weakly and has to be an instance of a class, not a value"
            fatalError("\(type) cannot be a delegate: \(rule)")
        }
        return delegate as AnyObject
    }
}

// The list has a lock of its own, and the class has nothing else.
extension MulticastDelegate: @unchecked Sendable where T: Sendable {}

// MARK: - Calling

extension MulticastDelegate: Sequence {
    /// The living delegates, in order of addition.
    public struct Iterator: IteratorProtocol {
        var receivers: LivingReceivers<AnyObject>

        /// The next delegate that lives and was not removed.
        public mutating func next() -> T? {
            while let object = receivers.next() {
                // A conformance that is bound to an actor does not hold elsewhere. That must not cost the others their
                // call.
                if let delegate = object as? T { return delegate }
            }
            return nil
        }
    }

    /// Iterates over the delegates there are now. Those added later are not part of it, and those removed or gone are
    /// left out.
    public func makeIterator() -> Iterator {
        Iterator(receivers: receivers[Everything.everything])
    }

    /// Calls the body with each living delegate, in order of addition.
    public func invoke(_ body: (T) -> Void) {
        for delegate in self { body(delegate) }
    }

    /// Calls the body with each living delegate, in order of addition, also after one has thrown.
    ///
    /// - Throws: A ``BroadcastError`` with all that was thrown, after the last call.
    public func invoke(_ body: (T) throws -> Void) throws(BroadcastError) {
        var failures: [any Error] = []
        for delegate in self {
            do { try body(delegate) } catch { failures.append(error) }
        }
        try BroadcastError.check(failures)
    }
}

// MARK: - Operators

extension MulticastDelegate {
    /// Adds a delegate. See ``add(_:)``.
    public static func += (delegates: MulticastDelegate, delegate: T) {
        delegates.add(delegate)
    }

    /// Removes a delegate. See ``remove(_:)``.
    public static func -= (delegates: MulticastDelegate, delegate: T) {
        delegates.remove(delegate)
    }
}
