// A service in Go that takes orders. It reads the price from the catalog and records the total for its caller.
//
//	go mod init orders && go get github.com/nats-io/nats.go
//	NATS_URL=$(npm run --silent nats:url) go run orders.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

const entry = `{ "name": "orders.place", "description": "Places an order at the price of the catalog.",
  "auth": "AuthRequired", "kind": "nats", "subject": "svc.orders.place", "acts": ["entries:read", "transactions:record"],
  "input": { "type": "object", "required": ["product", "count"], "properties": {
    "product": { "type": "string", "pattern": "^[0-9A-Za-z]{1,64}$" }, "count": { "type": "integer", "minimum": 1 } } } }`

type call struct {
	Input struct {
		Product string  `json:"product"`
		Count   float64 `json:"count"`
	} `json:"input"`
	Credential struct{ Token, URL string } `json:"credential"`
}

// api calls the orb's API as the caller, through this handler. It returns the status and the body.
func (c call) api(method, path string, body any) (int, json.RawMessage, error) {
	data, _ := json.Marshal(body)
	request, _ := http.NewRequest(method, c.Credential.URL+path, bytes.NewReader(data))
	request.Header.Set("Authorization", "Bearer "+c.Credential.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	var answer json.RawMessage
	return response.StatusCode, answer, json.NewDecoder(response.Body).Decode(&answer)
}

func place(c call) (int, json.RawMessage, error) {
	status, answer, err := c.api("GET", "/catalog/product/"+c.Input.Product, nil)
	var product struct{ Values struct{ Price float64 } }
	if err != nil || status != 200 || json.Unmarshal(answer, &product) != nil {
		return status, answer, err
	}
	values := map[string]any{"product": c.Input.Product, "count": c.Input.Count, "total": c.Input.Count * product.Values.Price}
	return c.api("POST", "/call/record", map[string]any{"values": values})
}

func main() {
	connection, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		panic(err)
	}
	connection.QueueSubscribe("svc.orders.place", "orders", func(message *nats.Msg) {
		var c call
		json.Unmarshal(message.Data, &c)
		status, answer, err := place(c)
		reply := &nats.Msg{Data: answer, Header: nats.Header{}}
		if err != nil || status >= 400 {
			var problem struct{ Detail string }
			json.Unmarshal(answer, &problem)
			reply.Header.Set("Nats-Service-Error-Code", fmt.Sprint(max(status, 400)))
			reply.Header.Set("Nats-Service-Error", problem.Detail)
		}
		message.RespondMsg(reply)
	})
	if _, err := connection.Request("$KV.handlers.orders.place", []byte(entry), 2*time.Second); err != nil {
		panic(err)
	}
	fmt.Println("ready: orders.place")
	select {}
}
