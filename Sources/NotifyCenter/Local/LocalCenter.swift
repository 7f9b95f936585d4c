import Synchronization

/// A notification center within one process.
///
/// Observers register for names, for patterns of names, or for types of messages. By default, a post calls its
/// observers on the poster's thread and returns after the last call. Observers of higher priority are called first,
/// those of equal priority in order of registration.
///
/// ```swift
/// let center = LocalCenter()
/// let token = try center.observe("orders.*") { notification in
///     print(notification.name)
/// }
/// try center.post("orders.created")
/// ```
///
/// All members may be called on any thread, and by observers during a call. No lock is held while observers run, and
/// posts of different names do not wait for each other. A post does not call observers that are added after it began,
/// or that end before it reaches them.
public final class LocalCenter: Sendable {
    /// The center that all parts of a program share.
    public static let `default` = LocalCenter()

    let state = Lock(State())
    let cache = PostCache()
    /// The features that are in use; see ``Feature``.
    private let features = Atomic<UInt8>(0)

    /// Creates a center without observers.
    public init() {}

    /// The number of observations, without those whose owner or observed instance was released.
    public var observationCount: Int {
        endOrphans()
        return state.withLock { $0.core.registrationCount }
    }
}

// MARK: - State

extension LocalCenter {
    /// Features that make posts take the slow path, which looks for interceptors and the hook for unobserved posts.
    enum Feature {
        static let interceptors: UInt8 = 1
        static let unobservedHook: UInt8 = 2
    }

    struct State: ~Copyable, Sendable {
        var core = CenterCore(resolutionCacheBytes: 0)
        /// The observers by the slot that is registered in the core.
        var observers = SlotMap<PlainSlotID, Observer>()
        var owners = OwnerIndex()
        var keys: [ObservationKey: Int32] = [:]
        /// The number of resolved posts that reached no observer.
        var unobservedPosts: UInt64 = 0
        var additionsUntilPruning = LocalCenter.smallestPruningInterval
        var hooks = CenterHooks()
        var interceptors = InterceptorChain()
        var lastInterceptor: UInt64 = 0
        var values = KeptValues()
        var watches = ValueWatches()
        var attachments: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// A key and its scope: the observations of one owner, or those without an owner.
    struct ObservationKey: Hashable {
        var owner: ObjectIdentifier?
        var key: String
    }

    static let smallestPruningInterval = 32

    /// The maximum number of cached entries in addition to one for each observed name.
    static let cacheLimit = 16_384

    /// Whether posts can take the fast path: no interceptors, no hook for unobserved posts.
    @inline(__always)
    var canTakeFastPath: Bool { features.load(ordering: .acquiring) == 0 }

    func set(_ feature: UInt8, to isOn: Bool) {
        if isOn {
            features.bitwiseOr(feature, ordering: .acquiringAndReleasing)
        } else {
            features.bitwiseAnd(~feature, ordering: .acquiringAndReleasing)
        }
    }
}
