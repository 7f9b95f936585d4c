import NotifyWire

/// Splits received bytes into frames, and counts the frames by kind.
struct FrameScanner {
    typealias Handler = (_ kind: UInt8, _ body: UnsafeRawBufferPointer) -> Void

    private(set) var counts = [Int](repeating: 0, count: 256)
    /// The beginning of an incomplete frame, as far as it was received.
    private var rest: [UInt8] = []

    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ handler: Handler?) {
        if rest.isEmpty {
            rest.append(contentsOf: bytes[scanWhole(bytes, handler)...])
        } else {
            rest.append(contentsOf: bytes)
            var joined: [UInt8] = []
            swap(&joined, &rest)
            let used = joined.withUnsafeBytes { scanWhole($0, handler) }
            rest.append(contentsOf: joined[used...])
        }
    }

    /// - Returns: The number of bytes in complete frames.
    private mutating func scanWhole(_ bytes: UnsafeRawBufferPointer, _ handler: Handler?) -> Int {
        var offset = 0
        while bytes.count - offset >= FrameHeader.size {
            let body = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian)
            let end = offset + FrameHeader.size + body
            guard end <= bytes.count else { break }
            let kind = bytes[offset + 4]
            counts[Int(kind)] += 1
            handler?(kind, UnsafeRawBufferPointer(rebasing: bytes[(offset + FrameHeader.size)..<end]))
            offset = end
        }
        return offset
    }

    func count(_ kind: FrameKind) -> Int { counts[Int(kind.rawValue)] }
}
