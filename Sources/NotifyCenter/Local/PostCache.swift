import Synchronization

/// A cache of the observers of each name, so that most posts do not take the center's lock.
///
/// Names are distributed over shards. A shard is locked by one thread at a time, for the duration of a look-up or a
/// change. No thread blocks on a shard: a post that finds the shard locked resolves the name in the center, which is
/// slower and always current. Registering or ending an observation removes the affected entries before the call
/// returns. If the shard is locked, the call marks the shard as outdated, and the thread that holds the lock empties
/// the shard before unlocking it.
///
/// Entries are inserted, and removed or marked as outdated, under the center's lock, so that an inserted entry is
/// current.
///
/// `@unchecked Sendable`: `memory` never changes. In the shards that it points to, the state is atomic, and the table
/// is only accessed by the thread that holds the shard's lock.
struct PostCache: ~Copyable, @unchecked Sendable {
    enum Lookup {
        case miss
        case unobserved
        case observers(ObserverList)
    }

    private static let shardCount = 128
    /// Two cache lines each, so that different shards share none: processors prefetch cache lines in pairs.
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
        // The upper bits, because the table of a shard uses the lower ones.
        shard(Int(truncatingIfNeeded: name.hash >> 57))
    }

    /// Looks up the observers of a post. Does not block, and calls no closure.
    @inline(__always)
    func find(_ name: NotificationName, object: ObjectKey?) -> Lookup {
        let shard = shard(of: name)
        guard shard.tryLock() else { return .miss }
        let answer = shard.table.pointee.find(name, object: object)
        shard.unlock()
        return answer
    }
}

// MARK: - Under the center's lock

extension PostCache {
    /// Inserts an entry unless the shard is locked.
    ///
    /// - Returns: The evicted lists, which must be released without a lock.
    func insert(
        _ observers: ObserverList?, for name: NotificationName, object: ObjectKey?, limit: Int
    ) -> PostTable.Dropped {
        let shard = shard(of: name)
        guard shard.tryLock() else { return PostTable.Dropped() }
        var dropped = PostTable.Dropped()
        if shard.table.pointee.count >= max(limit / Self.shardCount, 1) {
            shard.table.pointee.removeAll(into: &dropped)
        }
        shard.table.pointee.insert(observers, for: name, object: object)
        shard.unlock()
        return dropped
    }

    /// Removes the entries that a registration of these names and this object invalidates. Marks a locked shard as
    /// outdated instead. The removed lists must be released without a lock.
    func drop(_ names: ObservedNames, object: ObjectKey?, into dropped: inout PostTable.Dropped) {
        switch names.kind {
        case .name(let name):
            let shard = shard(of: name)
            if shard.tryLockOrMarkOutdated() {
                shard.table.pointee.remove(name, object: object, into: &dropped)
                shard.unlock()
            }
        case .patterns:
            for index in 0..<Self.shardCount {
                let shard = shard(index)
                guard shard.tryLockOrMarkOutdated() else { continue }
                shard.table.pointee.removeAll(into: &dropped)
                shard.unlock()
            }
        }
    }
}

/// A part of the cache with its lock.
///
/// The state and the table are adjacent in memory, but not fields of one value: changing the table would access the
/// whole value while other threads read the state.
private struct Shard {
    private static let unlocked: UInt32 = 0
    private static let locked: UInt32 = 1
    /// Locked and outdated: the thread that holds the lock empties the table before it unlocks the shard.
    private static let outdated: UInt32 = 2

    private static let tableOffset = 8
    static var size: Int { tableOffset + MemoryLayout<PostTable>.size }

    let memory: UnsafeMutableRawPointer

    @inline(__always)
    private var state: UnsafeMutablePointer<Atomic<UInt32>> {
        memory.assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// The table, accessed only by the thread that holds the lock.
    @inline(__always)
    var table: UnsafeMutablePointer<PostTable> {
        (memory + Self.tableOffset).assumingMemoryBound(to: PostTable.self)
    }

    func initialize() {
        memory.initializeMemory(as: Atomic<UInt32>.self, to: Atomic(Self.unlocked))
        (memory + Self.tableOffset).initializeMemory(as: PostTable.self, to: PostTable())
    }

    func deinitialize() {
        state.deinitialize(count: 1)
        table.deinitialize(count: 1)
    }

    /// Locks the shard. Retries for a short time, without blocking, if another thread holds the lock.
    @inline(__always)
    func tryLock() -> Bool {
        tryLockOnce() || retryLock()
    }

    @inline(never)
    private func retryLock() -> Bool {
        for _ in 0..<64 where state.pointee.load(ordering: .relaxed) == Self.unlocked && tryLockOnce() { return true }
        return false
    }

    @inline(__always)
    private func tryLockOnce() -> Bool {
        state.pointee.compareExchange(expected: Self.unlocked, desired: Self.locked, ordering: .acquiring).exchanged
    }

    /// Locks the shard, or marks it as outdated. Lock-free: each retry means that another thread made progress.
    func tryLockOrMarkOutdated() -> Bool {
        while true {
            if tryLockOnce() { return true }
            let marking = state.pointee.compareExchange(
                expected: Self.locked, desired: Self.outdated, ordering: .acquiringAndReleasing)
            if marking.exchanged || marking.original == Self.outdated { return false }
        }
    }

    @inline(__always)
    func unlock() {
        if state.pointee.compareExchange(expected: Self.locked, desired: Self.unlocked, ordering: .releasing).exchanged
        {
            return
        }
        unlockOutdated()
    }

    @inline(never)
    private func unlockOutdated() {
        var dropped = PostTable.Dropped()
        repeat {
            state.pointee.store(Self.locked, ordering: .releasing)
            table.pointee.removeAll(into: &dropped)
        } while !state.pointee.compareExchange(expected: Self.locked, desired: Self.unlocked, ordering: .releasing)
            .exchanged
    }
}
