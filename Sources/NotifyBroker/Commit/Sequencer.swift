import NotifyWire

/// Gives out sequences from blocks that the store has reserved, so that none is used twice, not even after a crash.
struct Sequencer {
    /// Sequences in a block. The next block is asked for when half of one is left.
    ///
    /// Large, because while the disk is full no other can be reserved, and volatile posts need sequences as well.
    static let blockSize: UInt64 = 1 << 32
    static let end = Limits.sequenceEnd

    private(set) var next: UInt64
    /// Sequences below this are reserved; a start after a crash goes on with it.
    private(set) var mark: UInt64
    /// Sequences below this may be used as well, reserved or not.
    private let usableThrough: UInt64
    private var isReserving = false

    /// `next` is the first sequence that was never used. None from `usableThrough` on is given out before a reservation.
    init(next: UInt64, usableThrough: UInt64 = 0) {
        self.next = next
        self.usableThrough = usableThrough
        mark = next
    }

    /// The last sequence given out, by this run or an earlier one.
    var last: UInt64 { next - 1 }
    var isReady: Bool { next < max(mark, usableThrough) }

    /// The next sequence; nil while none is reserved.
    mutating func take() -> UInt64? {
        guard isReady else { return nil }
        defer { next += 1 }
        return next
    }

    /// The mark to reserve through, when it is time to.
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
