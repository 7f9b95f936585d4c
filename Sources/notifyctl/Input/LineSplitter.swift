/// Cuts input into lines, however it arrives. A newline ends a line, and so does the end where something stands before it.
struct LineSplitter {
    private static let newline = UInt8(ascii: "\n")

    /// Bytes that are kept of a line. A longer one is cut there, which leaves it too long to be posted.
    private let maximumBytes: Int
    private var partial: [UInt8] = []

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// The lines that end in `chunk`, without their newlines.
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

    /// The last line, where it has no newline.
    mutating func finish() -> [UInt8]? {
        guard !partial.isEmpty else { return nil }
        defer { partial = [] }
        return partial
    }

    private mutating func keep(_ rest: ArraySlice<UInt8>) {
        partial.append(contentsOf: rest.prefix(maximumBytes - partial.count))
    }
}
