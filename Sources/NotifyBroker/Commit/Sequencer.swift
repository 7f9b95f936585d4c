import NotifyWire

/// Assigns sequences from ranges that the store has reserved on disk, so that no sequence is used twice, even after a
/// crash.
struct Sequencer {
    /// The number of sequences per reservation. The next reservation is requested when less than half of this number is
    /// left.
    ///
    /// The number is large, because volatile posts need sequences even while the disk is full and no more can be
    /// reserved.
    static let blockSize: UInt64 = 1 << 32
    static let end = Limits.sequenceEnd

    private(set) var next: UInt64
    /// Sequences below this are reserved. After a crash, the next start continues at this sequence, unless the shared
    /// memory still contains the lowest unused sequence.
    private(set) var reservedBelow: UInt64
    /// Sequences below this may be used even while the log is not writable and none can be reserved. The store also
    /// records used sequences in shared memory, so that a start within the same boot does not use them again (see
    /// `RecoveredLog.usableBelow`).
    private let usableBelow: UInt64
    private var isReserving = false

    /// - Parameters:
    ///   - next: The first sequence to assign. This sequence and higher ones were never used.
    ///   - usableBelow: The upper bound, exclusive, of the sequences that may be used before any is reserved. See the
    ///     property.
    init(next: UInt64, usableBelow: UInt64 = 0) {
        self.next = next
        self.usableBelow = usableBelow
        reservedBelow = next
    }

    /// The sequence before the next one. No higher sequence was assigned, in this run or an earlier one.
    var last: UInt64 { next - 1 }
    var isReady: Bool { next < max(reservedBelow, usableBelow) }

    /// Takes the next sequence; nil if none is available.
    mutating func take() -> UInt64? {
        guard isReady else { return nil }
        defer { next += 1 }
        return next
    }

    /// The upper bound of the reservation to request, exclusive; nil if none is needed.
    var neededReservation: UInt64? {
        guard !isReserving, reservedBelow < next + Self.blockSize / 2 else { return nil }
        let wanted = min(next + Self.blockSize, Self.end)
        return wanted > reservedBelow ? wanted : nil
    }

    mutating func reservationBegan() {
        isReserving = true
    }

    mutating func reservationEnded(below bound: UInt64, succeeded: Bool) {
        isReserving = false
        if succeeded { reservedBelow = max(reservedBelow, bound) }
    }
}
