import CMalloc

/// Returns freed memory to the system.
///
/// malloc keeps freed memory for later allocations. After a peak, tens of megabytes can remain free between blocks in
/// use, and no user is charged for them. Trimming returns these pages, and takes about 3 ms for 60 MB.
struct MemoryTrimmer {
    /// malloc is trimmed only if the bytes in use have fallen by at least this much since their peak, and by at least a
    /// quarter. Trimming more often would cost time, because each trim visits all free memory.
    static let minimumFreedBytes = 16 << 20
    static let interval = Duration.milliseconds(250)

    /// The time after a trim at which malloc is trimmed once more: closed channels are freed only after the bytes in
    /// use have fallen, and a last small fall would not cause a trim.
    static let followUp = Duration.seconds(10)

    private var highestBytes = 0
    private var nextFollowUp: Duration?
    private var earliestTrim = Duration.zero

    /// Makes malloc allocate every block of 1 MiB or more with `mmap`. Freeing such a block returns its memory to the
    /// system, and pages that were never written take no memory. Without this call, malloc would raise the threshold to
    /// the size of freed blocks.
    static func configureMalloc() {
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
    }

    /// Trims malloc if enough was freed, at most once per ``interval``.
    ///
    /// - Parameters:
    ///   - bytes: The bytes in use.
    ///   - now: The monotonic time.
    ///   - trim: Returns free memory of malloc to the system.
    /// - Returns: The time of the next call, if there may be memory to trim then; `nil` otherwise.
    mutating func trimIfNeeded(
        bytesInUse bytes: Int, now: @autoclosure () -> Duration, trim: () -> Void = { malloc_trim(0) }
    ) -> Duration? {
        highestBytes = max(highestBytes, bytes)
        guard highestBytes - bytes >= max(Self.minimumFreedBytes, highestBytes / 4) else {
            return followUpIfNeeded(bytes, now: now, trim)
        }
        let now = now()
        guard now >= earliestTrim else { return earliestTrim }
        highestBytes = bytes
        earliestTrim = now + Self.interval
        nextFollowUp = now + Self.followUp
        trim()
        return nextFollowUp
    }

    private mutating func followUpIfNeeded(_ bytes: Int, now: () -> Duration, _ trim: () -> Void) -> Duration? {
        guard let time = nextFollowUp, now() >= time else { return nextFollowUp }
        nextFollowUp = nil
        highestBytes = bytes
        trim()
        return nil
    }
}
