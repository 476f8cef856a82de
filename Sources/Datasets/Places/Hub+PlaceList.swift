import Geodesy
import Places
import Wire
import Records

// place/list

extension Hub {
    func listPlaces(_ call: Call) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let page = try Page(parameters)
        var filter = PlaceFilter()
        if let within = parameters.value("within") { filter.area = try AreaCoding.decode(within) }
        if let category = parameters.value("categoryId") { filter.categoryID = try PlaceReader.id(category, "categoryId") }
        if let chain = parameters.value("chainId") { filter.chainID = try PlaceReader.id(chain, "chainId") }
        let table = call.dataset.places.table
        let found = table.page(filter, after: page.after, limit: page.limit)
        return JSONWriter.object { writer in
            writer.key("places")
            writer.beginArray()
            // Few may be found though more are behind: the table looks at so many for one page.
            var next = found.next
            var last: PlaceTable.Handle?
            for handle in found.handles {
                let object = describe(handle, in: call.dataset)
                if let last, writer.bytes.count + object.count > Page.maximumBytes {
                    next = table.id(last)
                    break
                }
                writer.raw(object)
                last = handle
            }
            writer.endArray()
            writer.member("next", optional: next)
        }
    }
}
