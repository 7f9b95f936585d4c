/// Gives out sequences from blocks that the store has reserved, so that none is used twice, not even after a crash.
struct Sequencer {
    /// Sequences in a block. The next block is asked for when half of one is left.
    static let blockSize: UInt64 = 1 << 24
    /// Sequences stay below this, so that a double holds every one of them.
    static let end: UInt64 = 1 << 53

    private(set) var next: UInt64
    private var reservedThrough: UInt64
    private var isReserving = false

    /// `next` is the first sequence that was never used. None is given out before a reservation.
    init(next: UInt64) {
        self.next = next
        reservedThrough = next - 1
    }

    /// Sequences up to here are reserved.
    var mark: UInt64 { reservedThrough }

    /// The last sequence given out, by this run or an earlier one.
    var last: UInt64 { next - 1 }
    var isReady: Bool { next <= reservedThrough }

    /// The next sequence; nil while none is reserved.
    mutating func take() -> UInt64? {
        guard next <= reservedThrough else { return nil }
        defer { next += 1 }
        return next
    }

    /// The mark to reserve through, when it is time to.
    var wantedReservation: UInt64? {
        guard !isReserving, reservedThrough + 1 - next < Self.blockSize / 2 else { return nil }
        let mark = min(next - 1 + Self.blockSize, Self.end - 1)
        return mark > reservedThrough ? mark : nil
    }

    mutating func reservationBegan() {
        isReserving = true
    }

    mutating func reservationEnded(through mark: UInt64, succeeded: Bool) {
        isReserving = false
        if succeeded { reservedThrough = max(reservedThrough, mark) }
    }
}
