/// A registered interest in matching posts, as plain data.
package struct Registration: Hashable, Sendable, BitwiseCopyable {
    /// Rises with every registration and is never used again.
    package let id: UInt64

    /// Higher comes first; the same priority comes in order of registration.
    package let priority: Int32

    /// Chosen by the owner of the core, which passes it on.
    package let slot: Int32

    package init(id: UInt64, priority: Int32, slot: Int32) {
        self.id = id
        self.priority = priority
        self.slot = slot
    }

    /// Of a record without registration.
    static let none = Registration(id: 0, priority: 0, slot: 0)

    var isNone: Bool { id == 0 }

    /// Whether this one is called before the other.
    @inline(__always)
    static func < (left: Registration, right: Registration) -> Bool {
        left.priority != right.priority ? left.priority > right.priority : left.id < right.id
    }
}

/// The registrations that a name, with its object, reaches, in the order of delivery. It never changes: a change of
/// registrations leads to another resolution.
package final class Resolution: Sendable {
    /// Higher priority first, then in order of registration. Each registration occurs once.
    package let registrations: ContiguousArray<Registration>

    /// ``CenterCore/resolutionGeneration`` at the time this was made. A resolution of an earlier generation is stale: the
    /// rights that it was filtered by have changed since.
    package let generation: UInt64

    /// The resolution of generation 0 without registrations.
    package static let empty = Resolution([])

    init(_ registrations: ContiguousArray<Registration>, generation: UInt64 = 0) {
        self.registrations = registrations
        self.generation = generation
    }

    /// Sorts registrations into the order of delivery, each once.
    static func order(_ registrations: inout ReusableBuffer<Registration>) {
        var isOrdered = true
        var index = 1
        while index < registrations.count && isOrdered {
            isOrdered = registrations[index - 1] < registrations[index]
            index += 1
        }
        if isOrdered { return }
        var values = registrations.values
        values.sort { $0 < $1 }
        var last: UInt64?
        registrations.keepAll { registration in
            defer { last = registration.id }
            return registration.id != last
        }
    }

    /// The memory that the resolution occupies, with what an allocator adds.
    package var byteCount: Int { 96 + registrations.count * MemoryLayout<Registration>.stride }

    package var isEmpty: Bool { registrations.isEmpty }

    package var count: Int { registrations.count }
}
