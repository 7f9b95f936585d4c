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
        let (isChanges, after, through): (Bool, UInt64, UInt64) =
            switch read.order {
            case .keys(let after, let through): (false, after, through)
            case .changes(let after, _): (true, after, .max)
            }
        return [
            "request": read.request, "epoch": read.epoch, "changes": isChanges, "after": after, "through": through,
            "waiting": read.isWaiting, "maximumMessages": read.maximumMessages, "anyObject": read.object == nil,
            "object": read.object ?? "", "patterns": read.patterns,
        ]
    }

    static func fields(_ page: ValuePage) -> [String: Any] {
        [
            "request": page.request, "count": page.count, "end": page.isEnd, "reset": page.isReset,
            "epoch": page.epoch, "through": page.through, "changesAfter": page.changesAfter, "lastKey": page.lastKey,
            "damaged": page.damaged,
        ]
    }
}
