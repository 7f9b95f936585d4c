import NotifyCenter

/// A measured workload that posts names.
struct Workload: Sendable {
    let title: String
    /// Returns a closure that posts the given number of times.
    let prepare: @Sendable (Names) -> (_ posts: Int) -> Void

    /// Resolves each name as the daemon does for a post: a name that is not cached is validated before it is resolved.
    private static func post(_ names: Names, core: consuming CenterCore) -> (Int) -> Void {
        let core = CoreBox(core)
        return { posts in names.forEach(posts: posts) { core.post($0) } }
    }

    static let all = [
        // The baseline that a center is compared with.
        Workload(title: "dictionary") { names in
            // The dictionary has copies of the names in another order, because a received name is not the same string
            // as the stored one.
            var random = SplitMix(state: 43)
            let values = Dictionary(
                uniqueKeysWithValues: names.strings.shuffled(using: &random).map {
                    (String(Array($0)), Int32($0.utf8.count))
                })
            return { posts in
                var index = 0
                for _ in 0..<posts {
                    if values[names.strings[index]] == nil { fatalError("a name is missing") }
                    index = index + 1 == names.strings.count ? 0 : index + 1
                }
            }
        },
        // A core with registrations for four patterns and for ten of the names.
        Workload(title: "few") { names in
            var core = CenterCore(reservedFirstToken: "notifyd")
            for (slot, pattern) in ["orders.3.>", "*.5.created.*", "orders.*.paid.*", "sensors.>"].enumerated() {
                guard let pattern = try? NamePattern(pattern) else { fatalError("not a pattern") }
                _ = core.add(patterns: [pattern], slot: Int32(slot))
            }
            for slot in 0..<10 { _ = core.addExact(name: names.strings[slot], slot: Int32(slot)) }
            return post(names, core: core)
        },
        // A core with a registration for each name.
        Workload(title: "own") { names in
            var core = CenterCore(reservedFirstToken: "notifyd")
            var random = SplitMix(state: 43)
            for (slot, name) in names.strings.shuffled(using: &random).enumerated() {
                _ = core.addExact(name: name, slot: Int32(slot))
            }
            return post(names, core: core)
        },
    ]
}

/// A core in an object, as in the daemon's broker.
private final class CoreBox {
    private var core: CenterCore
    private var reached = 0

    init(_ core: consuming CenterCore) {
        self.core = core
    }

    @inline(__always)
    func post(_ name: UnsafeRawBufferPointer) {
        let key = PostKey(name: name, object: nil)
        if let known = core.cachedResolution(of: key)?.resolution {
            reached &+= known.count
            return
        }
        guard (try? NotificationName.validate(utf8: name)) != nil else { fatalError("not a name") }
        reached &+= core.resolve(key, where: { $0.slot >= 0 }).count
    }
}
