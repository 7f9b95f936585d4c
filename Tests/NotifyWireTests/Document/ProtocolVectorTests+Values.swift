import NIOCore
import NotifyWire

extension ProtocolVectorTests {
    static func setValue(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let value = try SetValue(frame)
        var fields = try fields(value.post.parts)
        fields["request"] = value.post.request
        fields["receipt"] = value.post.wantsReceipt
        fields["durability"] = value.post.durability.rawValue
        fields["conditional"] = value.ifSequence != nil
        fields["ifSequence"] = value.ifSequence ?? 0
        var buffer = ByteBuffer()
        value.append(to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    static func fields(_ clear: ClearValues) -> [String: Any] {
        [
            "request": clear.request, "conditional": clear.ifSequence != nil, "ifSequence": clear.ifSequence ?? 0,
            "anyObject": clear.object == nil, "object": clear.object ?? "", "patterns": clear.patterns,
        ]
    }

    static func fields(_ read: ReadValues) -> [String: Any] {
        let (isChanges, after, second): (Bool, UInt64, UInt64) =
            switch read.order {
            case .keys(let after, let through): (false, after, through)
            case .changes(let after, let announcedAfter, _): (true, after, announcedAfter)
            }
        return [
            "request": read.request, "epoch": read.epoch, "run": read.run, "changes": isChanges, "after": after,
            isChanges ? "announcedAfter" : "through": second, "waiting": read.isWaiting,
            "maximumMessages": read.maximumMessages, "anyObject": read.object == nil, "object": read.object ?? "",
            "patterns": read.patterns,
        ]
    }

    static func fields(_ page: ValuePage) -> [String: Any] {
        [
            "request": page.request, "count": page.count, "end": page.isEnd, "reset": page.isReset,
            "announcedReset": page.isAnnouncedReset, "epoch": page.epoch, "run": page.run, "through": page.through,
            "announcedThrough": page.announcedThrough, "committedThrough": page.committedThrough,
            "lastKey": page.lastKey, "damaged": page.damaged,
        ]
    }

    static func announce(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let announce = try Announce(frame)
        var fields = try fields(announce.parts)
        fields["request"] = announce.request
        fields["grace"] = announce.graceMilliseconds
        fields["takesOver"] = announce.takesOver
        fields["will"] = try announce.will.map { will in
            [
                "headers": try HeaderList.decode(will.headers).map { [$0.key, $0.value] },
                "payload": hex(Array(will.payload)),
            ]
        }
        var buffer = ByteBuffer()
        announce.append(to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    static func fields(_ announced: Announced) -> [String: Any] {
        ["request": announced.request, "sequence": announced.sequence, "subscribers": announced.subscribers]
    }

    static func fields(_ withdraw: Withdraw) throws -> [String: Any] {
        let headers = try withdraw.headers.withUnsafeBytes { try HeaderList.decode($0).map { [$0.key, $0.value] } }
        return ["request": withdraw.request, "name": withdraw.name, "object": withdraw.object, "headers": headers]
    }
}
