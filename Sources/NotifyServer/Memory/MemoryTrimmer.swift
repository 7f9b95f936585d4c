import CMalloc

/// Gives freed memory back to the system.
///
/// malloc keeps freed memory for later allocations. After a peak, tens of megabytes of it can lie between blocks in use, which
/// no user is charged with. Trimming returns their pages: about 3 ms for 60 MB.
struct MemoryTrimmer {
    /// malloc is trimmed when so many bytes fewer are in use than there were, and a quarter fewer: it looks at all that is
    /// free.
    static let leastFreedBytes = 16 << 20
    static let interval = Duration.milliseconds(250)

    private var highestBytes = 0
    private var earliestTrim = Duration.zero

    /// Has malloc map blocks of 1 MiB and more by themselves, so that they are the system's again once they are freed, and take
    /// up no memory where nothing was written yet. By default it raises that size to that of blocks that were freed.
    static func configureMalloc() {
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
    }

    /// Trims malloc if it is time to.
    ///
    /// - Parameters:
    ///   - bytes: What is in use.
    ///   - trim: Has malloc give back what is free.
    /// - Returns: When it is to be asked again, if there is something to give back and it is too early; nil otherwise.
    mutating func trimIfNeeded(
        bytesInUse bytes: Int, now: @autoclosure () -> Duration, trim: () -> Void = { malloc_trim(0) }
    ) -> Duration? {
        highestBytes = max(highestBytes, bytes)
        guard highestBytes - bytes >= max(Self.leastFreedBytes, highestBytes / 4) else { return nil }
        let now = now()
        guard now >= earliestTrim else { return earliestTrim }
        highestBytes = bytes
        earliestTrim = now + Self.interval
        trim()
        return nil
    }
}
