/// A registered interest in matching posts, as plain data.
package struct Registration: Hashable, Sendable, BitwiseCopyable {
    /// The identifier, which increases with every registration and is never reused.
    package let id: UInt64

    /// The priority. Registrations with a higher priority come first; those with equal priorities are in order of
    /// registration.
    package let priority: Int32

    /// A number that the owner of the core chose.
    package let slot: Int32

    package init(id: UInt64, priority: Int32, slot: Int32) {
        self.id = id
        self.priority = priority
        self.slot = slot
    }

    /// The value in a record whose registration has ended.
    static let none = Registration(id: 0, priority: 0, slot: 0)

    var isNone: Bool { id == 0 }

    /// Whether the left registration is called before the right one.
    @inline(__always)
    static func < (left: Registration, right: Registration) -> Bool {
        left.priority != right.priority ? left.priority > right.priority : left.id < right.id
    }
}

/// The registrations that match a post, in order of delivery. Immutable: a change of registrations leads to a new
/// resolution.
package final class Resolution: Sendable {
    /// The registrations, ordered by descending priority, then by registration. Each registration occurs once.
    package let registrations: ContiguousArray<Registration>

    /// The value of ``CenterCore/resolutionGeneration`` when the resolution was made. A resolution of an earlier
    /// generation is stale: the permissions that it was filtered by may have changed since.
    package let generation: UInt64

    /// The empty resolution of generation 0.
    package static let empty = Resolution([])

    init(_ registrations: ContiguousArray<Registration>, generation: UInt64 = 0) {
        self.registrations = registrations
        self.generation = generation
    }

    /// Sorts registrations into the order of delivery, and removes duplicates.
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

    /// The resolution with those of its registrations that satisfy `isIncluded`.
    package func filtered(_ isIncluded: (Registration) -> Bool) -> Resolution {
        Resolution(registrations.filter(isIncluded), generation: generation)
    }

    /// The memory of the resolution in bytes, including the overhead of the allocator.
    package var byteCount: Int { 96 + registrations.count * MemoryLayout<Registration>.stride }

    package var isEmpty: Bool { registrations.isEmpty }

    package var count: Int { registrations.count }
}
