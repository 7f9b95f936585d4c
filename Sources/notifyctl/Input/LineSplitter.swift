/// Splits input that arrives in chunks into lines. The last line need not end with a newline.
struct LineSplitter {
    private static let newline = UInt8(ascii: "\n")

    /// The length in bytes to which longer lines are truncated. It exceeds the maximum payload, so that posting a
    /// truncated line fails.
    private let maximumBytes: Int
    private var partial: [UInt8] = []

    /// Whether the beginning of a line was read, and its end was not.
    var hasPartialLine: Bool { !partial.isEmpty }

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Returns the lines that end in `chunk`, without their newlines.
    mutating func split(_ chunk: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var start = 0
        while let end = chunk[start...].firstIndex(of: Self.newline) {
            if partial.isEmpty {
                lines.append(Array(chunk[start..<end].prefix(maximumBytes)))
            } else {
                keep(chunk[start..<end])
                lines.append(partial)
                partial = []
            }
            start = end + 1
        }
        keep(chunk[start...])
        return lines
    }

    /// Returns the last line if it has no newline, otherwise nil.
    mutating func finish() -> [UInt8]? {
        guard !partial.isEmpty else { return nil }
        defer { partial = [] }
        return partial
    }

    private mutating func keep(_ rest: ArraySlice<UInt8>) {
        partial.append(contentsOf: rest.prefix(maximumBytes - partial.count))
    }
}
