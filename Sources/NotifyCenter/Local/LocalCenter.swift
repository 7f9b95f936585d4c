import Synchronization

/// A notification center for the parts of one process.
///
/// Observers say which names they want, which patterns of names, or which type of message; posts reach them on the poster's
/// thread unless they chose otherwise, those of higher priority first and otherwise in order of registration, before `post`
/// returns.
///
/// ```swift
/// let center = LocalCenter()
/// let token = try center.observe("orders.*") { notification in
///     print(notification.name)
/// }
/// try center.post("orders.created")
/// ```
///
/// All members may be called on any thread, also by an observer that is being called. No lock is held while observers run,
/// and posts of different names do not wait for each other. An observation that is added during a post is not called for
/// it; one that ends before its turn came is not called any more.
public final class LocalCenter: Sendable {
    /// The center that parts of a program share which do not know of each other.
    public static let `default` = LocalCenter()

    let state = Lock(State())
    let cache = PostCache()
    /// What posts have to look at besides the cache. See ``Feature``.
    private let features = Atomic<UInt8>(0)

    /// Makes a center that knows nobody.
    public init() {}

    /// How many observations there are, those of owners that are gone not counted.
    public var observationCount: Int {
        endOrphans()
        return state.withLock { $0.core.registrationCount }
    }
}

// MARK: - State

extension LocalCenter {
    /// Features that make posts take the slow path.
    enum Feature {
        static let interceptors: UInt8 = 1
        static let unobservedHook: UInt8 = 2
    }

    struct State: ~Copyable, Sendable {
        var core = CenterCore(resolutionCacheBytes: 0)
        /// By the slot that the core knows them by.
        var observers = SlotMap<PlainSlotID, Observer>()
        var owners = OwnerIndex()
        var keys: [ObservationKey: Int32] = [:]
        /// How many posts were looked up that reached no observer.
        var unobservedPosts: UInt64 = 0
        var additionsUntilPruning = LocalCenter.smallestPruningInterval
        var hooks = CenterHooks()
        var interceptors = InterceptorChain()
        var lastInterceptor: UInt64 = 0
        var retained = RetainedNotifications()
        var attachments: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// Among whose observations a key is unique.
    struct ObservationKey: Hashable {
        var owner: ObjectIdentifier?
        var key: String
    }

    static let smallestPruningInterval = 32

    /// How many answers are remembered besides one for each name that is observed.
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
