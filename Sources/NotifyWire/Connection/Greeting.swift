package import NIOCore

/// The random 16-byte identifier of a client or of one run of the daemon. A client keeps its identifier when it
/// reconnects.
package struct InstanceID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func random() -> InstanceID {
        InstanceID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }
}

/// The daemon's behaviour when a connection's outbox is full of volatile messages.
package enum OverflowPolicy: UInt8, CaseIterable, Sendable {
    /// Drop the oldest messages, and report them in a gap.
    case dropOldest = 0
    /// Keep the latest message of each name and object, and report the dropped messages in a gap.
    case keepLatest = 1
    /// Close the connection with `tooSlow`.
    case disconnect = 2
}

/// The client's first frame.
package struct Hello: ControlFrame {
    package static let kind = FrameKind.hello
    /// The bytes "NTFY", read as a little-endian integer.
    package static let magic: UInt32 = 0x5946_544E
    package static let currentVersion: UInt16 = 1

    package var lowestVersion: UInt16
    package var highestVersion: UInt16
    package var overflow: OverflowPolicy
    package var instance: InstanceID

    package init(
        lowestVersion: UInt16 = currentVersion, highestVersion: UInt16 = currentVersion,
        overflow: OverflowPolicy = .dropOldest, instance: InstanceID
    ) {
        self.lowestVersion = lowestVersion
        self.highestVersion = highestVersion
        self.overflow = overflow
        self.instance = instance
    }

    /// Reads the body. Fields that a later version may have appended are ignored.
    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        guard try body.integer(UInt32.self) == Self.magic else {
            throw WireError(.greetingExpected, "this is notifyd's socket: the first frame must be a hello")
        }
        lowestVersion = try body.integer()
        highestVersion = try body.integer()
        let policy: UInt8 = try body.integer()
        try body.skip(3)
        instance = InstanceID(high: try body.integer(), low: try body.integer())
        guard let overflow = OverflowPolicy(rawValue: policy) else {
            throw WireError(.invalidArgument, "unknown overflow policy \(policy): expected 0, 1 or 2")
        }
        self.overflow = overflow
        _ = body.rest()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(Self.magic)
        buffer.writeLE(lowestVersion)
        buffer.writeLE(highestVersion)
        buffer.writeInteger(overflow.rawValue)
        buffer.writeRepeatingByte(0, count: 3)
        buffer.writeLE(instance.high)
        buffer.writeLE(instance.low)
    }
}

/// The daemon's answer to a hello: the negotiated version, the client's identity and the daemon's limits.
package struct Welcome: ControlFrame {
    package static let kind = FrameKind.welcome

    package var version: UInt16
    /// The client's uid. The kernel reports `uid`, `gid` and `pid`.
    package var uid: UInt32
    package var gid: UInt32
    package var pid: UInt32
    package var maximumPayloadBytes: UInt32
    /// The maximum number of posts that may wait for their receipts at once.
    package var postWindow: UInt32
    /// The largest window, in messages, that a durable subscription may ask for.
    package var maximumWindow: UInt32
    package var maximumSubscriptions: UInt32
    /// Identifies this run of the daemon; different after every start.
    package var daemonInstance: InstanceID
    /// The client's instance, as received in the hello.
    package var clientInstance: InstanceID
    /// The daemon's release, for display only.
    package var daemonVersion: String
    /// The epoch of the log; 0 if unknown. Changes when a backup replaces the log.
    package var epoch: UInt64

    package init(
        version: UInt16, uid: UInt32, gid: UInt32, pid: UInt32, maximumPayloadBytes: UInt32, postWindow: UInt32,
        maximumWindow: UInt32, maximumSubscriptions: UInt32, daemonInstance: InstanceID,
        clientInstance: InstanceID, daemonVersion: String, epoch: UInt64 = 0
    ) {
        self.version = version
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.maximumPayloadBytes = maximumPayloadBytes
        self.postWindow = postWindow
        self.maximumWindow = maximumWindow
        self.maximumSubscriptions = maximumSubscriptions
        self.daemonInstance = daemonInstance
        self.clientInstance = clientInstance
        self.daemonVersion = daemonVersion
        self.epoch = epoch
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        version = try body.integer()
        try body.skip(2)
        uid = try body.integer()
        gid = try body.integer()
        pid = try body.integer()
        maximumPayloadBytes = try body.integer()
        postWindow = try body.integer()
        maximumWindow = try body.integer()
        maximumSubscriptions = try body.integer()
        daemonInstance = InstanceID(high: try body.integer(), low: try body.integer())
        clientInstance = InstanceID(high: try body.integer(), low: try body.integer())
        daemonVersion = try body.countedString()
        // Earlier daemons do not send the epoch.
        epoch = body.remaining == 0 ? 0 : try body.integer()
        _ = body.rest()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(version)
        buffer.writeLE(UInt16(0))
        for field in [uid, gid, pid, maximumPayloadBytes, postWindow, maximumWindow, maximumSubscriptions] {
            buffer.writeLE(field)
        }
        for half in [daemonInstance.high, daemonInstance.low, clientInstance.high, clientInstance.low] {
            buffer.writeLE(half)
        }
        buffer.writeCounted(daemonVersion)
        buffer.writeLE(epoch)
    }
}
