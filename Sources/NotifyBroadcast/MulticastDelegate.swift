/// A list of weakly held delegates that are all called, in order of addition.
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
/// Delegates are held weakly and need no removal. An invocation skips delegates that are added after it began or
/// removed before it reaches them. No lock is held while delegates run, so they may add, remove and invoke.
///
/// A multicast delegate is a `Sequence` of the existing delegates, so that results can be combined and `async` calls
/// awaited:
///
/// ```swift
/// let isReady = delegates.reduce(true) { $0 && $1.isReady }
/// for delegate in delegates { await delegate.playerWillStop() }
/// ```
///
/// To use the list where a single delegate is expected, write a class that conforms to the protocol and forwards each
/// call:
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
/// Delegates are called on the thread of the caller. A multicast delegate is `Sendable` if its delegates are, and may
/// then be used on several threads at once.
public final class MulticastDelegate<T> {
    /// The set of methods that `BroadcastReceivers` needs for each receiver. Delegates are always registered for all.
    struct AllMethods: OptionSet {
        let rawValue: UInt64
        static var all: AllMethods { AllMethods(rawValue: .max) }
    }

    private let receivers = BroadcastReceivers<AnyObject>()

    /// Creates an empty list.
    public init() {}

    /// The number of delegates that still exist.
    public var count: Int { receivers.count }

    /// Whether no delegate exists any more.
    public var isEmpty: Bool { receivers.isEmpty }

    /// Adds a delegate at the end. A delegate that was already added keeps its position and is not called twice.
    ///
    /// - Precondition: The delegate is an instance of a class. A value would be boxed, and the box released at once.
    public func add(_ delegate: T) {
        let object = Self.object(of: delegate)
        receivers.add(object, for: AllMethods.all) { [weak object] in object }
    }

    /// Removes a delegate. Invocations in progress that have not reached the delegate skip it. Has no effect if the
    /// delegate was not added.
    public func remove(_ delegate: T) {
        receivers.remove(Self.object(of: delegate), for: AllMethods.all)
    }

    private static func object(of delegate: T) -> AnyObject {
        // As `Any`, because otherwise the result for an existential `T` is `T` itself.
        let type = type(of: delegate as Any)
        // Not `precondition`, which prints no message in release builds.
        guard type is AnyClass else {
            fatalError("\(type) cannot be a delegate: delegates are held weakly and must be class instances")
        }
        return delegate as AnyObject
    }
}

// Safe: `receivers` is the only stored property and never changes. It guards its list with a lock. The objects in the
// list are delegates, which are `Sendable` in this extension.
extension MulticastDelegate: @unchecked Sendable where T: Sendable {}

// MARK: - Calling

extension MulticastDelegate: Sequence {
    /// The existing delegates, in order of addition.
    public struct Iterator: IteratorProtocol {
        var receivers: LiveReceivers<AnyObject>

        /// Returns the next delegate that exists and was not removed, or nil at the end.
        public mutating func next() -> T? {
            while let object = receivers.next() {
                // The cast fails if the delegate's conformance is isolated to another actor. The iterator then
                // continues with the next delegate.
                if let delegate = object as? T { return delegate }
            }
            return nil
        }
    }

    /// Returns an iterator over the present delegates. The iterator skips delegates that are removed or released before
    /// it reaches them.
    public func makeIterator() -> Iterator {
        Iterator(receivers: receivers[AllMethods.all])
    }

    /// Calls the body with each existing delegate, in order of addition.
    public func invoke(_ body: (T) -> Void) {
        for delegate in self { body(delegate) }
    }

    /// Calls the body with each existing delegate, in order of addition, even after a call has thrown.
    ///
    /// - Throws: A ``BroadcastError`` with all errors, after the last call.
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
