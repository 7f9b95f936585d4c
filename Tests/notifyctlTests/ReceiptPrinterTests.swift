import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ReceiptPrinterTests {
    private func receipt(
        _ durability: NotificationClient.Durability, subscribers: UInt32 = 0, durables: UInt32 = 0
    ) -> NotificationClient.Receipt {
        NotificationClient.Receipt(
            NotifyWire.Receipt(
                request: 1, sequence: 5, subscribers: subscribers, stored: durables, durability: .init(durability)))
    }

    @Test func `a receipt has the durability and the numbers of receivers`() {
        var bytes: [UInt8] = []
        let printer = ReceiptPrinter(name: "a", format: .text)
        printer.append(receipt(.stored), to: &bytes)
        printer.append(receipt(.volatile, subscribers: 2), to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                posted a sequence=5 durability=stored subscribers=0 durables=0
                posted a sequence=5 durability=volatile subscribers=2 durables=0

                """)
    }

    @Test func `only a message that was neither received nor stored is reported`() {
        #expect(ReceiptPrinter.notice(receipt(.stored), requested: .stored) == nil)
        #expect(ReceiptPrinter.notice(receipt(.volatile, subscribers: 1), requested: .automatic) == nil)
        #expect(
            ReceiptPrinter.notice(receipt(.volatile), requested: .automatic)
                == "no subscriber received the message, and it was not stored: no durable subscription matches; "
                + "--durability stored keeps it in the log")
        #expect(
            ReceiptPrinter.notice(receipt(.volatile), requested: .volatile)
                == "no subscriber received the message, and it was not stored: --durability volatile never stores")
    }
}
