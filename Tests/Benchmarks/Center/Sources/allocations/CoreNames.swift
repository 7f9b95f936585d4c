import NotifyCenter

/// A core of a center to which many names are posted in the same way as by the daemon's broker.
final class CoreNames {
    private var core = CenterCore(reservedFirstToken: "notifyd")
    private let names: [[UInt8]]
    private var next = 0

    /// Resolves each name once. After that, the cache is full if not all names fit.
    init(_ count: Int) throws {
        names = (0..<count).map { Array("orders.\($0 % 7).created.\($0)".utf8) }
        for (slot, pattern) in ["orders.3.>", "*.5.created.*", ">"].enumerated() {
            _ = core.add(patterns: [try NamePattern(pattern)], slot: Int32(slot))
        }
        for _ in names { post() }
    }

    /// Whether the cache holds fewer names than were posted.
    var isFull: Bool { core.cachedResolutionCount < names.count }

    func post() {
        let isReached = names[next].withUnsafeBytes { name in
            let key = PostKey(name: name, object: nil)
            if let known = core.cachedResolution(of: key) { return !known.resolution.isEmpty }
            guard (try? NotificationName.validate(utf8: name)) != nil else { return false }
            return !core.resolve(key, where: { $0.slot < 3 }).isEmpty
        }
        guard isReached else { fatalError("a pattern does not match") }
        next = next + 1 == names.count ? 0 : next + 1
    }
}
