/// The data that the daemon adds to every message: its sequence, the time of posting, and the poster's ids.
///
/// The kernel reports the ids of the process that connected (`SO_PEERCRED`).
package struct Stamp: Equatable, Sendable {
    /// The sequence, which rises with every message, is never reused, and stays below 2^53.
    package var sequence: UInt64
    /// The time of posting, in microseconds since 1970-01-01T00:00:00Z.
    package var timeMicroseconds: UInt64
    package var uid: UInt32
    package var gid: UInt32
    package var pid: UInt32

    @inlinable
    package init(sequence: UInt64, timeMicroseconds: UInt64, uid: UInt32, gid: UInt32, pid: UInt32) {
        self.sequence = sequence
        self.timeMicroseconds = timeMicroseconds
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}
