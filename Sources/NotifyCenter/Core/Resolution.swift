/// Somebody's wish to get what matches, as the core hands it out: plain, without references.
package struct Registration: Hashable, Sendable, BitwiseCopyable {
    /// Rises with every registration and is never given again.
    package let id: UInt64

    /// Higher comes first; the same priority comes in order of registration.
    package let priority: Int32

    /// What the owner of the core gave it. The core does not look into it.
    package let slot: Int32

    package init(id: UInt64, priority: Int32, slot: Int32) {
        self.id = id
        self.priority = priority
        self.slot = slot
    }

    /// Whether this one is called before the other.
    @inline(__always)
    static func < (left: Registration, right: Registration) -> Bool {
        left.priority != right.priority ? left.priority > right.priority : left.id < right.id
    }
}

/// Which registrations a name, with its object, reaches, in the order in which they are called. It never changes: what is
/// added or removed later makes another one.
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
    static func ordered(_ registrations: consuming ContiguousArray<Registration>) -> ContiguousArray<Registration> {
        var isOrdered = true
        var index = 1
        while index < registrations.count && isOrdered {
            isOrdered = registrations[index - 1] < registrations[index]
            index += 1
        }
        if !isOrdered {
            registrations.sort { $0 < $1 }
            var last: UInt64?
            registrations.removeAll { registration in
                defer { last = registration.id }
                return registration.id == last
            }
        }
        return registrations
    }

    package var isEmpty: Bool { registrations.isEmpty }

    package var count: Int { registrations.count }
}
