package import NIOCore

/// The kind of a frame. Kinds below 0x40 are sent to the daemon, the others to the client.
package enum FrameKind: UInt8, CaseIterable, Sendable {
    case hello = 0x01
    case post = 0x02
    case subscribe = 0x03
    case detach = 0x04
    case remove = 0x05
    case acknowledge = 0x06
    case credit = 0x07
    case ping = 0x08
    case list = 0x09
    case statistics = 0x0A
    case dropped = 0x0B
    case limits = 0x0C
    case describe = 0x0D
    case reset = 0x0E
    case edit = 0x0F
    case readLog = 0x10
    case find = 0x11
    case endRead = 0x12
    case summarizeLog = 0x13
    case reject = 0x14
    case extend = 0x15
    case configure = 0x16
    case deadLetters = 0x17
    case serve = 0x18
    case endServing = 0x19
    case ask = 0x1A
    case cancelAsk = 0x1B
    case respond = 0x1C
    case setValue = 0x1D
    case clearValues = 0x1E
    case readValues = 0x1F
    case reload = 0x20
    case policyQuery = 0x21
    case monitor = 0x22
    case trace = 0x23
    case purge = 0x25
    case backup = 0x26
    case backupChunkRequest = 0x27
    case check = 0x28
    case announce = 0x29
    case withdraw = 0x2A

    case welcome = 0x41
    case receipt = 0x42
    case subscribed = 0x43
    case detached = 0x44
    case removed = 0x45
    case durableDescription = 0x46
    case deadLettersDone = 0x47
    case pong = 0x48
    case subscriptionEntry = 0x49
    case listEnd = 0x4A
    case statisticsReport = 0x4B
    case deadline = 0x4C
    case serving = 0x4D
    case servingEnded = 0x4E
    case serviceReply = 0x4F
    case deliver = 0x50
    case run = 0x51
    case redelivery = 0x52
    case gap = 0x53
    case serviceCall = 0x54
    case logPage = 0x55
    case found = 0x56
    case storedNameEntry = 0x57
    case clientEntry = 0x58
    case nameEntry = 0x59
    case postEntry = 0x5A
    case traceEntry = 0x5B
    case durableEntry = 0x5C
    case serviceCallEnded = 0x5D
    case valuePage = 0x5E
    case valuesCleared = 0x5F
    case error = 0x60
    case closing = 0x61
    case announced = 0x62
    case reloaded = 0x70
    case policyDecision = 0x71
    case purged = 0x72
    case backupReady = 0x73
    case backupChunk = 0x74
    case checkProgress = 0x75
    case checkReport = 0x76

    package var isFromDaemon: Bool { rawValue >= 0x40 }
}

/// The eight bytes before every body: length of the body, kind, flags and two reserved bytes.
package struct FrameHeader: Equatable, Sendable {
    package static let size = 8

    /// Bytes of the body, which follows the header.
    package var length: UInt32
    /// The raw kind, which may be unknown to `FrameKind`.
    package var kind: UInt8
    package var flags: UInt8

    @inlinable
    package init(length: UInt32, kind: UInt8, flags: UInt8 = 0) {
        self.length = length
        self.kind = kind
        self.flags = flags
    }

    /// Reads the header at the start of `bytes`, which must hold at least `size` bytes.
    @inlinable
    package init(reading bytes: UnsafeRawBufferPointer) {
        length = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        kind = bytes[4]
        flags = bytes[5]
    }
}

extension ByteBuffer {
    /// Writes one frame: the header, then the bytes that `body` writes. Returns the frame's size in bytes.
    @discardableResult
    package mutating func writeFrame(
        _ kind: FrameKind, flags: UInt8 = 0, _ body: (inout ByteBuffer) -> Void
    ) -> Int {
        let start = writerIndex
        writeInteger(UInt32(0), endianness: .little)
        writeInteger(kind.rawValue)
        writeInteger(flags)
        writeInteger(UInt16(0))
        body(&self)
        let size = writerIndex - start
        setInteger(UInt32(size - FrameHeader.size), at: start, endianness: .little)
        return size
    }
}
