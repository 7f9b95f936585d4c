import Synchronization

/// Whom names reach, remembered, so that a post takes no lock that another one could hold for long.
///
/// Names are spread over shards. A shard is used by one thread at a time, for as long as a look-up takes; nobody waits for
/// it. Who finds it taken asks the center itself, which is slower and always right. What a registration makes wrong is
/// dropped before the registration is done: by the center, or where a shard is taken, by the thread that has it, before it
/// lets go of it.
///
/// Answers are put in and dropped under the center's lock, so that one that is put in is not outdated yet.
///
/// Sendable is not checked because of the memory that the shards lie in: all of a shard but its state belongs to the thread
/// that has taken it.
struct PostCache: ~Copyable, @unchecked Sendable {
    enum Answer {
        case unknown
        case nobody
        case observers(ObserverList)
    }

    private static let shardCount = 128
    /// Two cache lines each, so that threads that use different shards share none: processors fetch them in pairs.
    private static let shardStride = 128

    private let memory: UnsafeMutableRawPointer

    init() {
        precondition(Shard.size <= Self.shardStride)
        memory = .allocate(byteCount: Self.shardCount * Self.shardStride, alignment: Self.shardStride)
        for index in 0..<Self.shardCount { shard(index).initialize() }
    }

    deinit {
        for index in 0..<Self.shardCount { shard(index).deinitialize() }
        memory.deallocate()
    }

    @inline(__always)
    private func shard(_ index: Int) -> Shard {
        Shard(memory: memory + index * Self.shardStride)
    }

    @inline(__always)
    private func shard(of name: NotificationName) -> Shard {
        // The upper bits: the table of a shard uses the lower ones.
        shard(Int(truncatingIfNeeded: name.hash >> 57))
    }

    /// What is known of a post. Takes no lock and calls nobody.
    @inline(__always)
    func find(_ name: NotificationName, object: ObjectKey?) -> Answer {
        let shard = shard(of: name)
        guard shard.take() else { return .unknown }
        let answer = shard.table.pointee.find(name, object: object)
        shard.giveBack()
        return answer
    }
}

// MARK: - Under the center's lock

extension PostCache {
    /// Puts an answer in, if nobody is using the shard. Hands back what had to go for it, which must be let go without a
    /// lock.
    func insert(
        _ observers: ObserverList?, for name: NotificationName, object: ObjectKey?, limit: Int
    ) -> PostTable.Dropped {
        let shard = shard(of: name)
        guard shard.take() else { return PostTable.Dropped() }
        var dropped = PostTable.Dropped()
        if shard.table.pointee.count >= max(limit / Self.shardCount, 1) {
            shard.table.pointee.removeAll(into: &dropped)
        }
        shard.table.pointee.insert(observers, for: name, object: object)
        shard.giveBack()
        return dropped
    }

    /// Drops what a registration for these names and this object makes wrong, or sees to it that it is dropped before anybody
    /// reads it. What is dropped here must be let go without a lock.
    func drop(_ names: ObservedNames, object: ObjectKey?, into dropped: inout PostTable.Dropped) {
        switch names.kind {
        case .name(let name):
            let shard = shard(of: name)
            if shard.takeOrMark() {
                shard.table.pointee.remove(name, object: object, into: &dropped)
                shard.giveBack()
            }
        case .patterns:
            for index in 0..<Self.shardCount {
                let shard = shard(index)
                guard shard.takeOrMark() else { continue }
                shard.table.pointee.removeAll(into: &dropped)
                shard.giveBack()
            }
        }
    }
}

/// A part of the cache, and who may use it.
///
/// Its state and its table lie side by side and are not fields of one value: to change a field is to change the value as a
/// whole, while others look at the state.
private struct Shard {
    private static let free: UInt32 = 0
    private static let taken: UInt32 = 1
    /// Taken, and outdated: who has it empties it before it gives it back.
    private static let outdated: UInt32 = 2

    private static let tableOffset = 8
    static var size: Int { tableOffset + MemoryLayout<PostTable>.size }

    let memory: UnsafeMutableRawPointer

    @inline(__always)
    private var state: UnsafeMutablePointer<Atomic<UInt32>> {
        memory.assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// For the thread that has taken the shard.
    @inline(__always)
    var table: UnsafeMutablePointer<PostTable> {
        (memory + Self.tableOffset).assumingMemoryBound(to: PostTable.self)
    }

    func initialize() {
        memory.initializeMemory(as: Atomic<UInt32>.self, to: Atomic(Self.free))
        (memory + Self.tableOffset).initializeMemory(as: PostTable.self, to: PostTable())
    }

    func deinitialize() {
        state.deinitialize(count: 1)
        table.deinitialize(count: 1)
    }

    /// Takes the shard if it is free, or becomes so in a moment.
    @inline(__always)
    func take() -> Bool {
        if tryTake() { return true }
        for _ in 0..<64 where state.pointee.load(ordering: .relaxed) == Self.free && tryTake() { return true }
        return false
    }

    @inline(__always)
    private func tryTake() -> Bool {
        state.pointee.compareExchange(expected: Self.free, desired: Self.taken, ordering: .acquiring).exchanged
    }

    /// Takes the shard, or marks it as outdated. Does not wait: each round that fails is one in which its owner got on.
    func takeOrMark() -> Bool {
        while true {
            if tryTake() { return true }
            let marking = state.pointee.compareExchange(
                expected: Self.taken, desired: Self.outdated, ordering: .acquiringAndReleasing)
            if marking.exchanged || marking.original == Self.outdated { return false }
        }
    }

    @inline(__always)
    func giveBack() {
        if state.pointee.compareExchange(expected: Self.taken, desired: Self.free, ordering: .releasing).exchanged {
            return
        }
        giveBackOutdated()
    }

    @inline(never)
    private func giveBackOutdated() {
        var dropped = PostTable.Dropped()
        repeat {
            state.pointee.store(Self.taken, ordering: .releasing)
            table.pointee.removeAll(into: &dropped)
        } while !state.pointee.compareExchange(expected: Self.taken, desired: Self.free, ordering: .releasing).exchanged
    }
}
