/// The connections whose sockets hold sent bytes that the peers have not read. These bytes are measured again from time
/// to time, because nothing reports that a peer has read them.
struct UnreadSockets {
    static let interval = Duration.seconds(1)
    /// Sockets with fewer bytes are not charged: `connectionBytes` covers them.
    private static let chargedBytes = 4 << 10

    private var slots: Set<ConnectionSlot> = []
    /// The time of the next measurement; nil if no socket holds bytes.
    private(set) var deadline: Duration?

    /// Whether a socket with this number of bytes is charged.
    func charges(_ bytes: Int) -> Bool { bytes >= Self.chargedBytes }

    /// Records the measured bytes in a socket.
    ///
    /// - Returns: The bytes to charge.
    mutating func measured(_ bytes: Int, in slot: ConnectionSlot, now: Duration) -> Int {
        let charge = bytes / Self.chargedBytes * Self.chargedBytes
        if charge == 0 {
            remove(slot)
        } else {
            slots.insert(slot)
            if deadline == nil { deadline = now + Self.interval }
        }
        return charge
    }

    mutating func remove(_ slot: ConnectionSlot) {
        slots.remove(slot)
        if slots.isEmpty { deadline = nil }
    }

    /// Takes the connections to measure now; empty before the deadline.
    mutating func takeDue(now: Duration) -> Set<ConnectionSlot> {
        guard let time = deadline, time <= now else { return [] }
        deadline = now + Self.interval
        return slots
    }
}
