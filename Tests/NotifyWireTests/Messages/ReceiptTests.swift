import NIOCore
import NotifyWire
import Testing

struct ReceiptTests {
    @Test
    func `a receipt written in one piece equals one written field by field`() {
        let receipt = Receipt(
            request: 0x0102_0304_0506_0708, sequence: 0x1112_1314_1516_17, subscribers: 0xFFFF_FFFE, stored: 3,
            durability: .synced)
        var written = ByteBuffer()
        var appended = ByteBuffer(string: "before")
        receipt.write(to: &written)
        receipt.append(to: &appended)
        #expect(appended.readString(length: 6) == "before")
        #expect(appended == written)
    }
}
