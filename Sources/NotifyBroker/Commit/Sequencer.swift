import NotifyWire

/// Assigns sequences from ranges that the store has reserved, so that none is used twice, not even after a crash.
struct Sequencer {
    /// The number of sequences per reservation. The next one is requested when less than half of it is left.
    ///
    /// Large, because none can be reserved while the disk is full, and volatile posts need sequences as well.
    static let blockSize: UInt64 = 1 << 32
    static let end = Limits.sequenceEnd

    private(set) var next: UInt64
    /// Sequences below this are reserved. A start after a crash continues from here.
    private(set) var mark: UInt64
    /// Sequences below this may be used even if they are not reserved.
    private let usableThrough: UInt64
    private var isReserving = false

    /// - Parameters:
    ///   - next: The first sequence that was never used.
    ///   - usableThrough: Sequences below this may be used before any reservation.
    init(next: UInt64, usableThrough: UInt64 = 0) {
        self.next = next
        self.usableThrough = usableThrough
        mark = next
    }

    /// The last sequence assigned, in this run or an earlier one.
    var last: UInt64 { next - 1 }
    var isReady: Bool { next < max(mark, usableThrough) }

    /// Takes the next sequence; nil if none is available.
    mutating func take() -> UInt64? {
        guard isReady else { return nil }
        defer { next += 1 }
        return next
    }

    /// The mark to reserve through; nil while no reservation is needed.
    var wantedReservation: UInt64? {
        guard !isReserving, mark < next + Self.blockSize / 2 else { return nil }
        let wanted = min(next + Self.blockSize, Self.end)
        return wanted > mark ? wanted : nil
    }

    mutating func reservationBegan() {
        isReserving = true
    }

    mutating func reservationEnded(through mark: UInt64, succeeded: Bool) {
        isReserving = false
        if succeeded { self.mark = max(self.mark, mark) }
    }
}
