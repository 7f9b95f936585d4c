/// The ``RegistrationIndex`` of each scope, by the scope's number. None of them is ever removed.
///
/// The indexes are in memory that the table manages: an array can't hold noncopyable values, and each access to a
/// property of a class would be checked for exclusivity at run time.
///
/// `@unchecked Sendable` because of the pointer: the memory belongs to this value, which is noncopyable.
struct ScopeTable: ~Copyable, @unchecked Sendable {
    private var memory = UnsafeMutablePointer<RegistrationIndex>.allocate(capacity: 1)
    private var capacity = 1
    private(set) var count = 0

    deinit {
        memory.deinitialize(count: count)
        memory.deallocate()
    }

    mutating func append(_ index: consuming RegistrationIndex) {
        if count == capacity { grow() }
        (memory + count).initialize(to: index)
        count += 1
    }

    private mutating func grow() {
        let grown = UnsafeMutablePointer<RegistrationIndex>.allocate(capacity: capacity * 2)
        grown.moveInitialize(from: memory, count: count)
        memory.deallocate()
        memory = grown
        capacity *= 2
    }

    subscript(scope: Int) -> RegistrationIndex {
        @inline(__always) _read {
            precondition(scope >= 0 && scope < count, "there is no such scope")
            yield memory[scope]
        }
        @inline(__always) _modify {
            precondition(scope >= 0 && scope < count, "there is no such scope")
            yield &memory[scope]
        }
    }
}
